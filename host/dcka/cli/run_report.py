"""The end of `dcka run`: its words, and its exit code."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from dcka.cli.output import Output
from dcka.errors import DckaError

if TYPE_CHECKING:
    from dcka.runs.outcome import Outcome


def report(
    outcome: "Outcome", record: Mapping[str, object], words: str, allow_partial: bool, output: Output
) -> int:
    """Print `record` or `words` of a run; the exit code: 0 only where everybody's readings are in all of it."""
    from dcka.mqtt.readiness import named

    output.result(record, words)
    if outcome.rejected:
        output.say(f"{outcome.rejected} messages were dropped as malformed or of no use")
    if outcome.whole:
        return 0
    if not outcome.finished:
        print(f"dcka: run {outcome.run} did not finish: {outcome.reason}", file=sys.stderr)
        return DckaError.exit_code
    without = f"run {outcome.run} is partial: it went on without {named(outcome.missing)}"
    if allow_partial:
        output.say(f"note: {without}")
        return 0
    print(f"dcka: {without}; run again once all are there, or take it with --allow-partial", file=sys.stderr)
    return DckaError.exit_code
