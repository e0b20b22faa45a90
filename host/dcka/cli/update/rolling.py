"""What `dcka update` does and shows."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dcka.cli.output import Output

if TYPE_CHECKING:
    from dcka.config import Config, State
    from dcka.updates.delivery import Told
    from dcka.updates.rollout import Outcome, Wishes

Change = Callable[["Told", float], None]


def rolled_out(
    config: "Config",
    place: "State",
    broker: str | None,
    nodes: Sequence[int],
    wishes: "Wishes",
    choices: Mapping[str, bool],
    output: Output,
) -> int:
    """Update `nodes`, show how it goes, and say what came of it; the exit code.

    choices: `again`, `rollback`, `source`, as `dcka.updates.plan.planned` has them.
    """
    from dcka.boards.broker_choice import broker_for_updates
    from dcka.mqtt.address import broker_of
    from dcka.mqtt.connection import Connection
    from dcka.updates.keys import known_key
    from dcka.updates.plan import planned
    from dcka.updates.rollout import Rollout

    begun = time.monotonic()
    key = known_key(place)
    url = broker_of(config, place, broker)
    boards = config.with_broker(broker_for_updates(config, place, broker))
    with Connection(url, config.network.name) as connection, _bars(output, nodes) as show:
        outcome = Rollout(
            connection,
            nodes,
            lambda node, facts: planned(boards, key, node, facts, **choices),
            wishes,
            show,
        ).run()
    _report(outcome, wishes.dry, time.monotonic() - begun, output)
    return 0 if outcome.ok or wishes.dry else 1


def _report(outcome: "Outcome", dry: bool, wall_s: float, output: Output) -> None:
    from dcka.updates.delivery import State

    told = list(outcome.nodes.values())
    record = {
        "nodes": {one.node: _record(one) for one in told},
        "updated": outcome.count(State.JOINED),
        "current": outcome.count(State.CURRENT),
        "rolled_back": outcome.count(State.ROLLED_BACK),
        "refused": outcome.count(State.REFUSED),
        "failed": outcome.count(State.FAILED),
        "held": outcome.count(State.HELD),
        "canary": outcome.canary,
        "stopped": outcome.stopped,
        "dry_run": dry,
        "wall_s": round(wall_s, 2),
    }
    lines = [_line(one, dry) for one in told]
    done = outcome.count(State.JOINED, State.CURRENT)
    verb = "have" if dry else "run"
    output.result(
        record, "\n".join([*lines, f"{done} of {len(told)} nodes {verb} the version; {wall_s:.1f} s"])
    )
    if outcome.stopped:
        output.error(f"stopped: {outcome.stopped}; the nodes that had no turn keep what they run")


def _record(one: "Told") -> dict[str, Any]:
    return {
        "state": str(one.state),
        "version": one.version,
        "before": one.before,
        "reason": one.reason,
        "files": one.files,
        "sent": one.sent,
        "copied": one.copied,
        "bytes": one.bytes,
        "seconds": round(one.seconds, 2),
    }


def _line(one: "Told", dry: bool) -> str:
    from dcka.updates.delivery import State

    if one.state is State.CURRENT:
        return f"node {one.node}: runs {one.version} already"
    if dry and one.state is State.HELD:
        before = one.before or "a version without a number"
        much = f"{one.files} files, {one.bytes:,} bytes at most"
        return f"node {one.node}: {one.version} in the place of {before}, {much}"
    if one.state is State.JOINED:
        return (
            f"node {one.node}: {one.sent} files sent ({one.bytes:,} bytes), {one.copied} copied on the board; "
            f"has joined with {one.version} after {one.seconds:.1f} s"
        )
    reason = f": {one.reason}" if one.reason else ""
    return f"node {one.node}: {one.state}{reason}"


@contextmanager
def _bars(output: Output, nodes: Sequence[int]) -> Iterator[Change]:
    """A bar for each node on a terminal; elsewhere a line when a node gets further."""
    if not output.console.is_terminal:
        said: dict[int, str] = {}

        def tell(told: "Told", part: float) -> None:
            if said.get(told.node) != told.state:
                said[told.node] = told.state
                output.detail(f"node {told.node}: {told.state}")

        yield tell
        return
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[step]}", markup=False),
    )
    with Progress(*columns, console=output.console, transient=True) as bars:
        tasks = {node: bars.add_task(f"node {node}", total=1.0, step="waiting") for node in nodes}

        def show(told: "Told", part: float) -> None:
            bars.update(tasks[told.node], completed=part, step=str(told.state))

        yield show
