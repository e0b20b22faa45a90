"""`dcka run`: one clustering of the network, with what it came to."""

import contextlib
import sys
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dcka.cli.options import (
    broker_option,
    configuration,
    examples,
    json_option,
    network_option,
    range_choice,
    require_quantile,
    state_of,
    state_option,
)
from dcka.cli.output import Output
from dcka.errors import DckaError

if TYPE_CHECKING:
    from rich.status import Status

    from dcka.config import Config, State
    from dcka.mqtt import Connection
    from dcka.runs.outcome import Outcome

Json = dict[str, Any]


@click.command(
    "run",
    epilog=examples(
        "dcka run                              as network.toml has it",
        "dcka run --schedule gossip            the paper's consensus instead of the exact one",
        "dcka run --k 4 --init shared --seed 7 --json",
        "dcka run --range quantile             the nodes agree on the range first (docs/data.md)",
        "dcka run --allow-partial              exit code 0 also where nodes were missing",
        "dcka run --stop                       end a run whose host has gone",
    ),
)
@click.option("--schedule", metavar="KIND", help="tree (exact) or gossip (the paper's).")
@click.option("--k", type=int, metavar="K", help="Clusters.")
@click.option(
    "--init", metavar="START", help="local (each node draws its own) or shared (all have the same)."
)
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
    **overrides: object,
) -> int:
    """Cluster the readings that the nodes hold.

    What is not given here is as network.toml has it. Where the nodes hold readings, and no points of the range and
    scale that [data] names, they agree on these first, in a run of its own. Exit code 0 says that every node has
    given its result and holds the final centres, with everybody's readings in every step; 1 that the run was ended
    before, and who was waited for, or that it is partial, and who was missing. The outcome is kept in the state folder,
    for dcka check.
    """
    from dcka.mqtt.address import broker_of
    from dcka.mqtt.connection import Connection

    config = configuration(network).replaced("run", None, **overrides)
    config = config.replaced("data", None, range=range, tail=tail, scale=scale)
    require_quantile(tail, config.data.range)
    folder = state_of(config, state)
    with Connection(broker_of(config, folder, broker), config.network.name) as connection:
        if stop:
            return _stop(connection, folder, output)
        outcome, dataset = _run(connection, config, folder, limit, wait, output)
    outcome.save(folder)
    return _report(outcome, dataset, allow_partial, output)


def _run(
    connection: "Connection",
    config: "Config",
    folder: "State",
    limit: float | None,
    wait: float | None,
    output: Output,
) -> tuple["Outcome", Json]:
    """(the outcome, the record of the data set)."""
    from dcka.mqtt.readiness import READY_S
    from dcka.runs.controller import run
    from dcka.runs.held import held_data, settled_data
    from dcka.runs.plan import plan
    from dcka.runs.survey import next_number, survey

    with _View(output) as view:
        view.show(f"waiting for {len(config.ids)} nodes at {connection.url}")
        found = survey(connection, config.ids, READY_S if wait is None else wait, view.missing)
        number = next_number(found, folder)
        if config.data.range == "host":
            dataset, distinct = held_data(found, config, folder)
        else:
            held = settled_data(connection, config, found, number, folder, limit_s=limit, on_event=view.take)
            for note in held.notes:
                output.say(note)
            dataset, distinct = held.record, held.distinct
            number += held.surveyed
        made = plan(config, dataset, number, max_message=found.max_message, distinct=distinct)
        for note in made.notes:
            output.say(f"note: {note}")
        return run(connection, made, limit_s=limit, on_event=view.take), made.dataset


def _report(outcome: "Outcome", dataset: Json, allow_partial: bool, output: Output) -> int:
    from dcka.mqtt.readiness import named
    from dcka.runs.summary import summary, text

    record = summary(outcome, dataset)
    output.result(record, text(record))
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


def _stop(connection: "Connection", folder: "State", output: Output) -> int:
    from dcka.runs.controller import dismiss
    from dcka.runs.survey import next_number, survey

    number = next_number(survey(connection, (), ready_s=0.5), folder)
    dismiss(connection, number)
    output.result({"stopped": number - 1}, f"whatever ran up to run {number - 1} is ended")
    return 0


class _View:
    """Shows on stderr how a run goes: one line that changes, where that is a terminal, and whom it waits for."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._status: Status | None = None
        self._resources = contextlib.ExitStack()
        self._handlers: dict[str, Callable[[Json], None]] = {
            "surveying": lambda data: self.show(f"run {data['run']}: the nodes agree on the range"),
            "begun": lambda data: self.show(f"run {data['run']}: begun"),
            "step": lambda data: self.show(f"run {data['run']}: step {data['step'] + 1}"),
            "waiting": self._waiting,
            "rejected": lambda data: output.detail(f"dropped a message on {data['topic']}: {data['reason']}"),
        }

    def __enter__(self) -> "_View":
        if sys.stderr.isatty():
            self._status = self._resources.enter_context(self._output.console.status(""))
        return self

    def __exit__(self, *_: object) -> None:
        self._resources.close()

    def show(self, text: str) -> None:
        """The changing line."""
        if self._status is not None:
            from rich.markup import escape

            self._status.update(escape(text))

    def take(self, kind: str, data: Json) -> None:
        """An event of the run."""
        handler = self._handlers.get(kind)
        if handler is not None:
            handler(data)

    def missing(self, nodes: "Collection[int]") -> None:
        """Who is waited for before the run."""
        from dcka.mqtt.readiness import named

        self._output.say(f"waiting for {named(nodes)} to come online" if nodes else "all are online")

    def _waiting(self, data: Json) -> None:
        self._output.say(f"waiting: {data['reason']}" if data["nodes"] else "all are there again")
