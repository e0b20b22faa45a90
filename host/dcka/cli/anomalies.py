"""`dcka anomalies`: readings farther from their centre than a quantile that the nodes agree on."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dcka.cli.history import Kept, history_options
from dcka.cli.options import (
    broker_option,
    configuration,
    examples,
    json_option,
    network_option,
    reveal_option,
    state_of,
    state_option,
)
from dcka.cli.output import Output

if TYPE_CHECKING:
    from dcka.config import State
    from dcka.runs.outcome import Outcome


@click.command(
    "anomalies",
    epilog=examples(
        "dcka anomalies                       the farthest hundredth, about the last clustering",
        "dcka anomalies --quantile 0.999      a thousandth",
        "dcka anomalies --reveal              and each node says its 16 farthest readings",
        "dcka anomalies 12 --reveal 3 --json  about run 12, three of each node, as one JSON object",
    ),
)
@click.argument("run", type=click.IntRange(min=1), metavar="[RUN]", required=False)
@click.option(
    "--quantile", type=float, default=0.99, show_default=True, metavar="Q",
    help="Readings beyond this part of all distances are told of.",
)  # fmt: skip
@reveal_option
@click.option(
    "--limit", type=click.FloatRange(min=0.1), metavar="S", help="Seconds after which the run is ended.  [default: 120]"
)  # fmt: skip
@click.option(
    "--wait", type=click.FloatRange(min=0), metavar="S",
    help="How long nodes are waited for that are not online yet.  [default: 6]",
)  # fmt: skip
@click.option("--allow-partial", is_flag=True, help="Exit code 0 also where nodes were missing.")
@network_option
@broker_option
@state_option
@history_options
@json_option
def command(
    run: int | None,
    quantile: float,
    reveal: int,
    limit: float | None,
    wait: float | None,
    allow_partial: bool,
    network: Path | None,
    broker: str | None,
    state: Path | None,
    history: str | None,
    no_history: bool,
    output: Output,
) -> int:
    """Find the readings that are farther from their centre than nearly all others.

    The nodes agree, in a run of their own, on the distance to the nearest centre of a clustering that the part
    --quantile of all readings does not exceed: exactly, as a clustering is. Then each holds its own readings against
    it. It tells how many are beyond, and no reading; with --reveal it says the farthest ones, and what that reveals is
    said before. RUN: the clustering whose centres are meant, the last one where none is given; the nodes still have to
    hold its data. The outcome is kept in the state folder, for dcka check.
    """
    from dcka.anomalies import NotFound, anomalies, find, tail_ppm_of, text
    from dcka.cli.run_report import report
    from dcka.cli.run_view import RunView
    from dcka.mqtt.address import broker_of
    from dcka.mqtt.connection import Connection
    from dcka.mqtt.readiness import READY_S
    from dcka.runs.held import record_of
    from dcka.runs.survey import next_number, survey

    tail_ppm = tail_ppm_of(quantile)
    config = configuration(network)
    folder = state_of(config, state)
    clustering = _clustering(folder, run)
    with (
        Kept(output, history, no_history) as kept,
        Connection(broker_of(config, folder, broker), config.network.name) as connection,
        RunView(output) as view,
    ):
        view.handlers["ended"] = kept.take
        view.show(f"waiting for {len(config.ids)} nodes at {connection.url}")
        found = survey(connection, config.ids, READY_S if wait is None else wait, view.missing)
        dataset = record_of(found, folder, clustering.dataset, f"run {clustering.run} clustered")
        try:
            outcome = find(
                connection, config, dataset, next_number(found, folder), clustering, tail_ppm, reveal=reveal,
                max_message=found.max_message, limit_s=limit, on_event=view.take,
            )  # fmt: skip
        except NotFound as error:
            error.outcome.save(folder)
            raise
    outcome.save(folder)
    made = anomalies(outcome, dataset)
    return report(outcome, made.record(), text(made), allow_partial, output)


def _clustering(folder: "State", number: int | None) -> "Outcome":
    """Run `number`, or the last clustering that has finished. Raises UsageError where it is none."""
    from dcka.errors import UsageError
    from dcka.runs.outcome import NoOutcomeError, Outcome
    from dcka.runs.plan import CLUSTERINGS

    if number is None:
        for known in range(folder.last_run(), 0, -1):
            if not folder.run(known).exists():
                continue
            outcome = Outcome.load(folder, known)
            if outcome.kind in CLUSTERINGS and outcome.finished:
                return outcome
        raise NoOutcomeError(f"{folder.folder} has no clustering that finished; make one with: dcka run")
    outcome = Outcome.load(folder, number)
    if outcome.kind not in CLUSTERINGS or not outcome.finished:
        what = "did not finish" if outcome.kind in CLUSTERINGS else f"is a {outcome.kind}"
        raise UsageError(
            f"run {number} {what}: anomalies are about the centres of a clustering that finished"
        )
    return outcome
