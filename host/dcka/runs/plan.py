"""What a run will be: its record, its rows and their limits, before anything is sent (docs/protocol.md, section 3).

Pure: no broker, no files. Whatever the nodes would refuse, or could not hold, is refused here with a sentence.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dcka.config import Config
from dcka.errors import UsageError
from dcka.inject.dataset import grid_of
from dcka.inject.quantise import MAX_DIMENSIONS
from dcka.mqtt.connection import encoded
from dcka.mqtt.readiness import named
from dcka.runs.identity import record_bytes
from dcka.topology import Schedule, schedule
from dcka.topology.slot_rows import board_slot_ms, slot_rows
from dcka_core.bounds import message_bound
from dcka_core.errors import CoreError
from dcka_core.record import Run, read_rows, read_run

Json = dict[str, Any]

VERSION = 1
SURVEY = "survey"  # the kind of a run in which the nodes agree on the range of their readings
SEEDING = "seeding"  # the kind of one in which they draw their starting centres
TAIL = "tail"  # the kind of one in which they agree on how far away a reading has to be to be told of
CLUSTERINGS = ("tree", "gossip")
PARTS = 256  # of a grid step, in which a tolerance is stated
# A share loses up to 2^-f of its mass by each floor, and the ratios of two nodes with the same mass may differ by
# some of the 1/256 parts for ever: below this a step would not settle.
LEAST_TOLERANCE = 16
MASS_BITS = 63  # of a signed 64-bit integer, which is what a node counts mass in
DEFAULT_MAX_MESSAGE = 1024  # of a node whose node.json does not say


class PlanError(UsageError):
    """A run that cannot be made as it was asked for; nothing was started."""


@dataclass(frozen=True)
class RunPlan:
    """`record`: of the topic `run`. `rows`: of `rows/<i>` by id. `members`: ids in index order. `root`: of `tree`,
    else 0. `window`: slots, of `gossip`, else 0. `bound`: the most bytes that any message of the run has, the
    run's record and rows included. `dataset`: the record of the data set. `period_ms`: how long an outer step takes
    where nodes sleep between slots, else 0. `notes`: sentences for people.
    """

    number: int
    record: Json
    rows: dict[int, Json]
    root: int
    members: tuple[int, ...]
    window: int
    bound: int
    dataset: Json
    period_ms: int = 0
    notes: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """ "tree", "gossip", "survey", "seeding", "score" or "tail"."""
        return str(self.record["kind"])

    def longer(self, limit_s: float) -> float:
        """`limit_s` for a run that keeps slot time: each step takes a period, and losses and lost beacons some more."""
        if not self.period_ms:
            return limit_s
        return limit_s + 2 * self.period_ms * int(self.record["max_steps"]) / 1000

    @property
    def dataset_id(self) -> str:
        """16 hex digits."""
        return str(self.record["dataset"])


def plan(
    config: Config,
    dataset_record: Mapping[str, Any],
    run_number: int,
    *,
    max_message: Mapping[int, int] | None = None,
    distinct: int | None = None,
    centres: Sequence[Sequence[float]] | None = None,
    on_grid: bool = False,
    seeding: int | None = None,
    prior: Sequence[int] | None = None,
    **overrides: object,
) -> RunPlan:
    """Run `run_number` of the network on the data set of `dataset_record` (`Dataset.record()`).

    `overrides`: values for keys of [run], by name, None where the network file's stands. `max_message`: what
    each node takes, in bytes. `distinct`: how many different points there are, where that is known. `centres`:
    K×n, the start, in the user's units or, `on_grid`, in levels of the grid; `init` is then "given", or, where they are
    what run `seeding` has drawn, "kmeans++". `prior`: as how many points each of the centres counts, of `tree` alone.
    Raises PlanError, UsageError of the configuration, and TopologyError: what cannot be, and the way out.
    """
    dataset = dict(dataset_record)
    if centres is not None:
        overrides = {**overrides, "k": len(centres)}
    changed = {
        name: value for name, value in overrides.items() if value not in (None, getattr(config.run, name))
    }
    if changed:
        # Validates the whole file anew, which the part of a network that is there need not pass.
        config = config.replaced("run", None, **changed)
    points = points_of(config, dataset)
    dimensions = _dimensions(dataset)
    require_points(config.run.k, points, distinct, str(dataset.get("name", "the data set")))
    made = schedule(config.graph, config.run.schedule, config.topology.root)
    record = _record(config, dataset, made, run_number, points)
    notes: tuple[str, ...] = ()
    if made.kind == "gossip":
        _require_mass(record)
        tolerance, notes = _tolerance(config.run.tolerance, int(dataset["bits"]))
        record |= {"window": made.window, "tolerance": tolerance}
        record |= {"slots": config.run.slots, "max_slots": config.run.max_slots}
    else:
        record |= {"root": made.root, "depth": made.depth}
        record["rows"] = _sizes(dataset, made.members)
    if centres is not None:
        record |= {"init": "given", "centres": _given(centres, dataset, dimensions, on_grid)}
        if seeding is not None:
            record |= {"init": "kmeans++", "seeding": seeding}
        if prior is not None:
            record["prior"] = [int(weight) for weight in prior]
    elif config.run.init == "kmeans++":
        raise PlanError(
            "kmeans++ starts from what the nodes have drawn; plan it with dcka.runs.seed.plan_from"
        )
    if config.run.latest:
        record["latest"] = grid_of(dataset).unit
    rows: dict[int, Json] = {node: dict(row) for node, row in made.row_records(run_number).items()}
    _, limit = smallest(made.members, max_message or {})
    if "rows" in record and record_bytes(record) > limit:
        # Of so many nodes only the total travels: what each has put in is then held against that alone.
        del record["rows"]
    period_ms, told = _put_slots(config.run.slot_ms, record, rows)
    notes += told
    bound = _bound(checked(record, rows), record, rows, max_message or {})
    return RunPlan(
        run_number, record, rows, made.root, made.members, made.window, bound, dataset, period_ms, notes
    )


def idle(number: int) -> Json:
    """The record that ends whatever runs with a smaller number."""
    return {"v": VERSION, "run": number, "kind": "idle"}


def _record(config: Config, dataset: Json, made: Schedule, number: int, points: int) -> Json:
    run = config.run
    return {
        "v": VERSION,
        "run": number,
        "kind": made.kind,
        "members": list(made.members),
        "dataset": dataset["dataset"],
        "points": points,
        "n": dataset["n"],
        "bits": dataset["bits"],
        "k": run.k,
        "init": run.init,
        "seed": run.seed,
        "max_steps": run.max_steps,
        "patience_ms": run.patience_ms,
    }


def _put_slots(slot_ms: int, record: Json, rows: dict[int, Json]) -> tuple[int, tuple[str, ...]]:
    """Put the slots into the record and the rows of a `tree`; (ms of a period, sentences for people)."""
    if not slot_ms or len(rows) == 1:
        return 0, ()
    if record["kind"] != "tree":
        return 0, (f"slot_ms = {slot_ms} is for the exact consensus; nodes of gossip stay awake",)
    made = slot_rows({node: row["parent"] for node, row in rows.items()})
    for node, row in rows.items():
        row["slots"] = made.rows[node]
    period_ms = made.period * slot_ms
    record |= {"slot_ms": slot_ms, "period": made.period}
    notes = []
    least = 3 * period_ms // 2
    if record["patience_ms"] < least:
        record["patience_ms"] = least
        notes.append(f"patience_ms is raised to {least}: one and a half periods of {made.period} slots")
    boards = board_slot_ms(made)
    if boards is None or slot_ms < boards:
        way = "whatever slot_ms is" if boards is None else f"from slot_ms = {boards} on they do"
        notes.append(f"ESP32 boards would not sleep in these slots, for want of time to associate: {way}")
    return period_ms, tuple(notes)


def _sizes(dataset: Json, members: Sequence[int]) -> list[int]:
    """How many points each member has, in index order; the last stands for all that follow."""
    sizes = [int(dataset["nodes"][str(node)]["rows"]) for node in members]
    while len(sizes) > 1 and sizes[-1] == sizes[-2]:
        sizes.pop()
    return sizes


def points_of(config: Config, dataset: Json) -> int:
    """M; raises PlanError where the data set is another network's."""
    try:
        rows = {int(node): int(entry["rows"]) for node, entry in dataset["nodes"].items()}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise PlanError(f"the record of the data set is broken ({error!r}); inject the data again") from error
    lacking = set(config.ids) - set(rows)
    beyond = set(rows) - set(config.ids)
    if lacking:
        raise PlanError(
            f"{named(lacking)} got nothing of the data set {dataset.get('name')}, which was injected for "
            f"{named(rows)}; inject the data again"
        )
    if beyond:
        raise PlanError(
            f"the data set {dataset.get('name')} has points at {named(beyond)}, no longer in the network; "
            f"inject the data again"
        )
    return sum(rows.values())


def _dimensions(dataset: Json) -> int:
    dimensions = int(dataset["n"])
    if not 1 <= dimensions <= MAX_DIMENSIONS:
        raise PlanError(
            f"{dimensions} dimensions: a node takes 1 to {MAX_DIMENSIONS}; inject fewer with --columns"
        )
    return dimensions


def require_points(k: int, points: int, distinct: int | None, name: str) -> None:
    """Raises PlanError where K is more than the points, or than the `distinct` ones where these are known."""
    most = points if distinct is None else distinct
    if k > most:
        what = "points" if distinct is None else "distinct points"
        raise PlanError(f"K = {k} is more than the {most:,} {what} of {name}; take fewer clusters with --k")


def _tolerance(fraction: float, bits: int) -> tuple[int, tuple[str, ...]]:
    """The tolerance in 1/256 of a grid step, and a sentence where it had to be raised."""
    wanted = round(fraction * (2**bits - 1) * PARTS)
    if wanted >= LEAST_TOLERANCE:
        return wanted, ()
    least = LEAST_TOLERANCE / (PARTS * (2**bits - 1))
    return LEAST_TOLERANCE, (
        f"tolerance {fraction:g} is below what the nodes' arithmetic settles at; {least:.2g} is taken",
    )


def _require_mass(record: Json) -> None:
    """gossip: b + ⌈log2(M + 1)⌉ + f ≤ 63 (docs/protocol.md, section 5)."""
    points, nodes = int(record["points"]), len(record["members"])
    needed = int(record["bits"]) + points.bit_length() + 20 + (nodes - 1).bit_length()
    if needed > MASS_BITS:
        raise PlanError(
            f"gossip: {points:,} points at {nodes} nodes need {needed} bits of mass, and there are {MASS_BITS}; "
            f"take --schedule tree, or fewer points"
        )


def _given(centres: Sequence[Sequence[float]], dataset: Json, dimensions: int, on_grid: bool) -> list[int]:
    """The start as K·n levels. A centre beyond the grid is brought to its end."""
    table = np.asarray(centres, dtype=np.float64) if _is_table(centres, dimensions) else np.empty((0, 0))
    if table.size == 0 or not np.isfinite(table).all():
        raise PlanError(
            f"the start: give K centres of {dimensions} numbers each, none of them NaN or infinite"
        )
    levels = np.floor(table + 0.5) if on_grid else grid_of(dataset).quantise(table)[0].astype(np.float64)
    return [int(level) for level in np.clip(levels, 0, 2 ** int(dataset["bits"]) - 1).ravel()]


def _is_table(centres: Sequence[Sequence[float]], dimensions: int) -> bool:
    return len(centres) > 0 and all(len(centre) == dimensions for centre in centres)


def checked(record: Json, rows: Mapping[int, Json]) -> Run:
    """The run as a node reads it, by the node's own code. Raises PlanError."""
    try:
        for row in rows.values():
            read_rows(row)
        return read_run(record)
    except CoreError as error:
        raise PlanError(f"a node would refuse this run: {error}") from error


def _bound(run: Run, record: Json, rows: Mapping[int, Json], max_message: Mapping[int, int]) -> int:
    """The most bytes of any message; raises PlanError where a node cannot take it."""
    groups = _groups(rows)
    consensus = message_bound(run, groups)
    longest_rows = max(len(encoded(row)) for row in rows.values())
    bound = max(consensus, record_bytes(record), longest_rows)
    node, limit = smallest(run.members, max_message)
    if bound <= limit:
        return bound
    takes = f"node {node} takes {limit:,} (max_message in its node.json)"
    if consensus > limit:
        asked, fitting = run.k, _fitting_k(run, groups, limit)
        way = f"take at most {fitting} clusters" if fitting else "take --schedule tree"
        raise PlanError(
            f"K = {asked} clusters of {run.n} dimensions (K·d = {asked * run.n}) make messages of up to "
            f"{consensus:,} bytes, and {takes}: {way}, fewer columns, or raise max_message to {bound:,}"
        )
    raise PlanError(
        f"the run's record has {record_bytes(record):,} bytes and a node's rows up to {longest_rows:,}, and "
        f"{takes}: raise max_message to {bound:,}, or take a topology with fewer links"
    )


def smallest(members: Sequence[int], max_message: Mapping[int, int]) -> tuple[int, int]:
    """The node that takes the smallest messages, the first of several, and how many bytes that are."""
    limits = {node: max_message.get(node, DEFAULT_MAX_MESSAGE) for node in members}
    node = min(limits, key=lambda one: (limits[one], one))
    return node, limits[node]


def _groups(rows: Mapping[int, Json]) -> int:
    """The most shares that one message of gossip carries."""
    return max((len(phase["share"]) for row in rows.values() for phase in row.get("phases", ())), default=1)


def _fitting_k(run: Run, groups: int, limit: int) -> int:
    """The greatest K whose messages fit, 0 where not even one cluster's do. Changes `run`."""
    low, high = 0, run.k
    while high - low > 1:
        run.k = math.floor((low + high) / 2)
        run.rows = run.k * (run.n + 1)
        if message_bound(run, groups) <= limit:
            low = run.k
        else:
            high = run.k
    return low
