"""The start `kmeans++`: the nodes draw it in a seeding, and the clustering that follows is planned from that."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from dcka.config import Config, State
from dcka.errors import DckaError
from dcka.mqtt.connection import Connection
from dcka.mqtt.readiness import READY_S, named
from dcka.runs.controller import OnEvent, run
from dcka.runs.outcome import Outcome, OutcomeError, decode_commit, greatest_holder
from dcka.runs.plan import RunPlan, plan
from dcka.runs.plan_seeding import plan_seeding

PLUS = "kmeans++"


class NotSeeded(DckaError):
    """The nodes have no start of K points; `outcome` is what their seeding came to."""

    def __init__(self, message: str, outcome: Outcome) -> None:
        super().__init__(message)
        self.outcome = outcome


@dataclass(frozen=True)
class Drawn:
    """`centres`: K lists of n levels of the grid. `owners`: by centre the node whose reading it is. Fewer than K of
    both where nobody had another point to offer. `run`: the seeding."""

    run: int
    centres: tuple[tuple[int, ...], ...]
    owners: tuple[int, ...]


@dataclass(frozen=True)
class Seeded:
    """`drawn`: the start. `outcome`: of the seeding. `notes`: sentences for people."""

    drawn: Drawn
    outcome: Outcome
    notes: tuple[str, ...] = ()


def revealed(k: int) -> str:
    """What is said to people before anything is drawn."""
    return f"kmeans++ reveals {k} reading{'s' if k != 1 else ''}: all nodes and this host see the points that are drawn"


def drawn_by(outcome: Outcome, node: int) -> Drawn:
    """What the last commit of a node says was drawn. Raises OutcomeError where it has none, or one of no points."""
    flat = decode_commit(outcome, node).centres
    k, n, bits = (int(outcome.record[name]) for name in ("k", "n", "bits"))
    if max(flat[: k * n]) >> bits:
        raise OutcomeError(
            f"run {outcome.run}: node {node} tells of a centre at {max(flat[: k * n])}, beyond the {bits} bits of the "
            "grid, which no reading is; run again"
        )
    owners = tuple(owner for owner in flat[k * n : k * n + k] if owner)
    return Drawn(outcome.run, tuple(tuple(flat[r * n : (r + 1) * n]) for r in range(len(owners))), owners)


def plan_from(
    config: Config, dataset_record: Mapping[str, Any], run_number: int, drawn: Drawn | None, **options: Any
) -> RunPlan:
    """`plan` of a clustering that starts from what was drawn; or, with None, one as large as it may be, to be refused
    before anything is drawn. `options` as of `plan`.
    """
    if drawn is None:
        size, top = int(dataset_record["n"]), (1 << int(dataset_record["bits"])) - 1
        drawn = Drawn(max(1, run_number - 1), ((top,) * size,) * config.run.k, ())
    centres = [[float(level) for level in centre] for centre in drawn.centres]
    options |= {"centres": centres, "on_grid": True, "seeding": drawn.run}
    return plan(config, dataset_record, run_number, **options)


def seed(
    connection: Connection,
    config: Config,
    dataset_record: Mapping[str, Any],
    number: int,
    *,
    max_message: Mapping[int, int] | None = None,
    distinct: int | None = None,
    limit_s: float | None = None,
    ready_s: float = READY_S,
    await_sleepers: bool = True,
    on_event: OnEvent | None = None,
) -> Seeded:
    """Run `number`, in which the nodes draw K points.

    `on_event`: as for `run`, and before "seeding" (`run`; `reveals`, a sentence for people).
    Raises PlanError; NotSeeded where it does not finish, or there are fewer than K distinct points; and as `run` does.
    """
    made = plan_seeding(config, dataset_record, number, max_message=max_message, distinct=distinct)
    if on_event is not None:
        on_event("seeding", {"run": number, "reveals": revealed(config.run.k)})
    outcome = run(
        connection, made, limit_s=limit_s, ready_s=ready_s, await_sleepers=await_sleepers, on_event=on_event
    )
    if not outcome.finished:
        raise NotSeeded(
            f"run {number}, in which the nodes draw the start, did not finish: {outcome.reason}", outcome
        )
    drawn = drawn_by(outcome, greatest_holder(outcome))
    if len(drawn.centres) < config.run.k:
        among = f" of those without {named(outcome.missing)}" if outcome.missing else ""
        raise NotSeeded(
            f"only {len(drawn.centres):,} of the points{among} are distinct, and kmeans++ needs K = {config.run.k}: "
            "take fewer clusters with --k",
            outcome,
        )
    return Seeded(drawn, outcome, tuple(_notes(drawn, outcome)))


def seeded_plan(
    connection: Connection,
    config: Config,
    dataset_record: Mapping[str, Any],
    number: int,
    folder: State,
    *,
    limit_s: float | None = None,
    ready_s: float = READY_S,
    await_sleepers: bool = True,
    on_event: OnEvent | None = None,
    **options: Any,
) -> RunPlan:
    """The plan of a clustering whose start the nodes draw before, in run `number`; what that came to is kept.

    `options`: `max_message` and `distinct`, as of `plan`. What cannot be is refused before anything is drawn. Raises as
    `seed` does; the outcome of a seeding that came to nothing is kept, too.
    """
    plan_from(config, dataset_record, number + 1, None, **options)
    try:
        asked: dict[str, Any] = {"limit_s": limit_s, "ready_s": ready_s, "on_event": on_event}
        asked["await_sleepers"] = await_sleepers
        seeded = seed(connection, config, dataset_record, number, **asked, **options)
    except NotSeeded as error:
        error.outcome.save(folder)
        raise
    seeded.outcome.save(folder)
    made = plan_from(config, dataset_record, number + 1, seeded.drawn, **options)
    return replace(made, notes=(*seeded.notes, *made.notes))


def _notes(drawn: Drawn, outcome: Outcome) -> list[str]:
    by_node = {node: drawn.owners.count(node) for node in sorted(set(drawn.owners))}
    whose = ", ".join(f"{count} of node {node}" for node, count in by_node.items())
    said = [f"run {outcome.run}: the nodes drew {len(drawn.owners)} starting centres: {whose}"]
    if outcome.missing:
        said.append(
            f"{named(outcome.missing)} took no part in some or all of the draw, so readings of theirs may be "
            "under-represented in the start"
        )
    return said
