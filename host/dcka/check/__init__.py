"""Check the outcome of a run against the reference, which shares no code with the nodes."""

from dcka.check.choice import Chosen
from dcka.check.judge import Surveyed, check
from dcka.check.score import check_score
from dcka.check.seeding import check_seeding
from dcka.check.stream import Streamed, window_of_nodes
from dcka.check.survey import check_survey
from dcka.check.tail import check_tail
from dcka.check.verdict import Verdict

__all__ = [
    "Chosen",
    "Streamed",
    "Surveyed",
    "Verdict",
    "check",
    "check_score",
    "check_seeding",
    "check_survey",
    "check_tail",
    "window_of_nodes",
]
