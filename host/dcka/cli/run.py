"""`dcka run`: one clustering of the network, with what it came to."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dcka.cli.history import Kept, history_options
from dcka.cli.options import (
    broker_option,
    configuration,
    examples,
    init_choice,
    json_option,
    network_option,
    range_choice,
    require_quantile,
    state_of,
    state_option,
)
from dcka.cli.output import Output
from dcka.cli.run_auto import AUTO, auto_options, auto_wish
from dcka.errors import UsageError

if TYPE_CHECKING:
    from dcka.cli.run_data import Held
    from dcka.cli.run_view import RunView
    from dcka.config import Config, State
    from dcka.mqtt import Connection
    from dcka.runs.outcome import Outcome


@click.command(
    "run",
    epilog=examples(
        "dcka run                              as network.toml has it",
        "dcka run --schedule gossip            the paper's consensus instead of the exact one",
        "dcka run --k 4 --init shared --seed 7 --json",
        "dcka run --init kmeans++              the nodes draw the start first (docs/starts.md)",
        "dcka run --range quantile             the nodes agree on the range first (docs/data.md)",
        "dcka run --k auto --k-range 2..12     find K too (docs/choosing-k.md)",
        "dcka run --allow-partial              exit code 0 also where nodes were missing",
        "dcka run --stop                       end a run whose host has gone",
    ),
)
@click.option("--schedule", metavar="KIND", help="tree (exact) or gossip (the paper's).")
@click.option(
    "--k",
    metavar="K",
    help="Clusters; auto: as many as the readings speak for, from kmeans++ where --init is not given.",
)
@auto_options
@init_choice
@click.option("--seed", type=int, metavar="N", help="Of the start.")
@click.option("--max-steps", type=int, metavar="N", help="Outer steps, at most.")
@click.option("--tolerance", type=float, metavar="X", help="gossip: a fraction of the range of the readings.")
@click.option(
    "--slots", type=int, metavar="N", help="gossip: slots in every step; 0 = stop by the tolerance."
)
@range_choice
@click.option("--patience-ms", type=int, metavar="MS", help="How long a node waits for the others.")
@click.option(
    "--slot-ms", type=int, metavar="MS", help="tree: nodes sleep between slots of so long; 0 = never."
)
@click.option(
    "--latest/--no-latest",
    default=None,
    help="Nodes tell where their latest reading lies, once the run has ended.",
)
@click.option(
    "--limit", type=click.FloatRange(min=0.1), metavar="S",
    help="Seconds after which a run that has not finished is ended.  [default: 120, and in slots two periods a step]",
)  # fmt: skip
@click.option(
    "--wait", type=click.FloatRange(min=0), metavar="S",
    help="How long nodes are waited for that are not online yet; on stderr, whom for.  [default: 6]",
)  # fmt: skip
@click.option(
    "--allow-partial",
    is_flag=True,
    help="tree: exit code 0 also where nodes were missing in all or some steps.",
)
@click.option("--stop", is_flag=True, help="End whatever runs, and start nothing.")
@network_option
@broker_option
@state_option
@history_options
@json_option
def command(
    network: Path | None,
    broker: str | None,
    state: Path | None,
    output: Output,
    limit: float | None,
    wait: float | None,
    allow_partial: bool,
    stop: bool,
    range: str | None,
    tail: float | None,
    scale: str | None,
    k: str | None,
    history: str | None,
    no_history: bool,
    **given: Any,
) -> int:
    """Cluster the readings that the nodes hold.

    What is not given here is as network.toml has it. Where the nodes hold readings, and no points of the range and
    scale that [data] names, they agree on these first, in a run of its own; with --init kmeans++ they draw the first
    centres in another. Exit code 0 says that every node has
    given its result and holds the final centres, with everybody's readings in every step; 1 that the run was ended
    before, and who was waited for, or that it is partial, and who was missing. The outcome is kept in the state folder,
    for dcka check, and in the history, for dcka results.

    With --k auto the network clusters with every K of a range, from several starts; the nodes judge each clustering by
    three indices, a rule takes one K, and the network clusters with it. docs/choosing-k.md says when to trust which.
    """
    from dcka.cli.run_data import held_by_nodes
    from dcka.cli.run_view import RunView
    from dcka.mqtt.address import broker_of
    from dcka.mqtt.connection import Connection

    auto = {name: given.pop(name) for name in AUTO}
    wish = auto_wish(k, auto, given)
    number = None if wish else _number(k)
    config = configuration(network).replaced("run", None, k=number, **given)
    config = config.replaced("data", None, range=range, tail=tail, scale=scale)
    require_quantile(tail, config.data.range)
    folder = state_of(config, state)
    kept = Kept(output, history, no_history)
    with kept, Connection(broker_of(config, folder, broker), config.network.name) as connection:
        if stop:
            return _stop(connection, folder, output)
        with RunView(output) as view:
            view.handlers["ended"] = kept.take
            held = held_by_nodes(connection, config, folder, limit, wait, view)
            if wish is not None:
                from dcka.cli.run_auto import run_auto

                return run_auto(connection, config, held, folder, wish, limit, wait, allow_partial, view)
            outcome = _run(connection, config, held, folder, limit, view)
    outcome.save(folder)
    return _report(outcome, held, allow_partial, output)


def _number(k: str | None) -> int | None:
    """Raises UsageError for what is neither a whole number nor auto."""
    try:
        return None if k is None else int(k)
    except ValueError:
        raise UsageError(f"--k {k!r}: a whole number, or auto, is needed") from None


def _run(
    connection: "Connection",
    config: "Config",
    held: "Held",
    folder: "State",
    limit: float | None,
    view: "RunView",
) -> "Outcome":
    from dcka.runs.controller import run
    from dcka.runs.plan import plan
    from dcka.runs.seed import PLUS, seeded_plan

    options: dict[str, Any] = {"max_message": held.max_message, "distinct": held.distinct}
    if config.run.init == PLUS:
        asked = {"limit_s": limit, "on_event": view.take, **options}
        made = seeded_plan(connection, config, held.record, held.number, folder, **asked)
    else:
        made = plan(config, held.record, held.number, **options)
    for note in made.notes:
        view.output.say(f"note: {note}")
    return run(connection, made, limit_s=limit, on_event=view.take)


def _report(outcome: "Outcome", held: "Held", allow_partial: bool, output: Output) -> int:
    from dcka.cli.run_report import report
    from dcka.runs.summary import summary, text

    record = summary(outcome, held.record)
    return report(outcome, record, text(record), allow_partial, output)


def _stop(connection: "Connection", folder: "State", output: Output) -> int:
    from dcka.runs.controller import dismiss
    from dcka.runs.survey import next_number, survey

    number = next_number(survey(connection, (), ready_s=0.5), folder)
    dismiss(connection, number)
    output.result({"stopped": number - 1}, f"whatever ran up to run {number - 1} is ended")
    return 0
