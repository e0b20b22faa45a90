"""`dcka check`: the outcome of a run against the reference."""

from pathlib import Path

import click

from dcka.cli.history import Kept, history_options
from dcka.cli.options import examples, json_option, network_option, state_option
from dcka.cli.output import Output
from dcka.errors import UsageError


@click.command(
    "check",
    epilog=examples(
        "dcka check                        the last run",
        "dcka check 12 --json              run 12, as one JSON object",
        "dcka check --picture run.png      and draw it",
        "dcka check --allow-partial        exit code 0 for PARTIAL too",
    ),
)
@click.argument("run", type=click.IntRange(min=1), metavar="[RUN]", required=False)
@click.option(
    "--picture",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Draw the readings, every node's centres and the reference's into this PNG file.",
)
@click.option(
    "--allow-partial", is_flag=True, help="Exit code 0 also where nodes were missing, and all else is right."
)
@click.option(
    "--nodes", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
    help="Of a stream: the nodes' flash, as dcka emulate --folder keeps it; readings are nowhere else.",
)  # fmt: skip
@network_option
@state_option
@history_options
@json_option
def command(
    run: int | None,
    picture: Path | None,
    allow_partial: bool,
    nodes: Path | None,
    network: Path | None,
    state: Path | None,
    history: str | None,
    no_history: bool,
    output: Output,
) -> int:
    """Compare the outcome of a run with the reference: PASS, PARTIAL or FAIL, and why.

    tree: every node's centres, counts and SSD must be the reference's, bit for bit; where nodes were missing, those
    of the reference with whoever was there in each step (PARTIAL). gossip: in every step every node must have put in
    the sums of its own readings, and have come to their quotient within the tolerance. Where the nodes agreed on the
    range of their readings, that is checked too, with each node's points; and where they drew the start, whether it is
    what the reference draws; and where K was found by dcka run --k auto, the indices of every K. Of a search for
    anomalies: the distance, and what each node tells of its readings beyond. The verdict goes into the history too.
    The exit code is 0 for PASS and 1 for PARTIAL and FAIL.
    """
    from dcka.check.kept import judged
    from dcka.config import State, find_network_file
    from dcka.runs.outcome import Outcome

    kept = State(state) if state is not None else State.beside(find_network_file(network))
    past = Kept(output, history, no_history)
    outcome = Outcome.load(kept, run)
    verdict, dataset = judged(outcome, kept, nodes)
    with past:
        past.add(outcome, None if dataset is None else dataset.record(), verdict)
    if picture is not None and dataset is None:
        raise UsageError(
            f"run {outcome.run} is a {outcome.kind}, of which there is no picture: draw the run that came after it"
        )
    record: dict[str, object] = {"verdict": verdict.word, "run": outcome.run, "kind": verdict.kind}
    record |= {"reasons": verdict.reasons, **verdict.figures}
    if picture is not None and dataset is not None:
        from dcka.plots import draw_run, panel

        title = f"{dataset.name}, run {outcome.run}"
        record["picture"] = draw_run(dataset, [panel(verdict, verdict.kind)], picture, title=title).absolute()
    count = f"{len(outcome.members)} node{'s' if len(outcome.members) != 1 else ''}"
    lines = [f"{verdict.word}: run {outcome.run}, {verdict.kind}, {count}"]
    output.result(record, "\n".join([*lines, *(f"  {reason}" for reason in verdict.reasons)]))
    return 0 if verdict.passed or (allow_partial and verdict.partial) else 1
