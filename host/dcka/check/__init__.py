"""Check the outcome of a run against the reference, which shares no code with the nodes."""

from dcka.check.judge import check
from dcka.check.verdict import Verdict

__all__ = ["Verdict", "check"]
