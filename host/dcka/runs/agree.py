"""The nodes agree on the range of their readings: a survey, and the points that each makes by it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from dcka.config import Config
from dcka.errors import DckaError
from dcka.inject.data_file import READINGS
from dcka.inject.dataset import Agreed, Dataset, agreed_record, on_agreed_grid, readings_record
from dcka.inject.errors import listed, shown
from dcka.inject.quantise import Grid
from dcka.inject.readings import ReadingSet
from dcka.inject.whole_grid import WholeGrid
from dcka.mqtt.connection import Connection
from dcka.mqtt.inbox import Inbox
from dcka.mqtt.readiness import named
from dcka.mqtt.statuses import NodeStatus
from dcka.runs.controller import LIMIT_S, OnEvent, run
from dcka.runs.outcome import Outcome, decode_commit, greatest_holder
from dcka.runs.plan import RunPlan
from dcka.runs.plan_survey import plan_survey
from dcka.runs.survey import Survey
from dcka_core.record import read_run
from dcka_core.survey_grid import SurveyGrid, grid_of

Json = dict[str, Any]


class NotAgreed(DckaError):
    """The nodes have no common grid; `outcome` is what their survey came to."""

    def __init__(self, message: str, outcome: Outcome) -> None:
        super().__init__(message)
        self.outcome = outcome


@dataclass(frozen=True)
class Agreement:
    """`record`: of the data set that the nodes hold now, as it is published. `dataset`: the same with its readings,
    where they are kept here. `outcome`: of the survey, with the statuses of who has made its points; None where the
    nodes had agreed before. `notes`: sentences for people.
    """

    record: Json
    dataset: Dataset | None
    outcome: Outcome | None
    notes: tuple[str, ...] = ()


def agree(
    connection: Connection,
    config: Config,
    found: Survey,
    number: int,
    *,
    readings: ReadingSet | None = None,
    kept: Dataset | None = None,
    limit_s: float = LIMIT_S,
    on_event: OnEvent | None = None,
) -> Agreement:
    """See to it that all nodes hold points on the grid that [data] of `config` asks for.

    Where they do not, run `number` is a survey; then its data set is published. `readings`, `kept`: what this host has
    of them, if anything. `on_event`: as for `run`, and "surveying" (`run`) before. Raises NotReady: nodes without
    readings, or with others; NotAgreed; and as `run` does.
    """
    held = found.held_readings()
    if readings is not None and readings.id.hex() != held:
        readings = None
    known = _known(config, held, found, kept)
    if known is not None:
        return known
    base = _readings_record(held, readings, found.dataset_record)
    plan = plan_survey(config, base, number, max_message=found.max_message)
    outcome = _surveyed(connection, plan, limit_s, on_event)
    grid, derived = _grid(outcome, base)
    statuses = _await_points(connection, outcome, derived, limit_s)
    outcome = replace(
        outcome, statuses={**outcome.statuses, **{node: dict(one.record) for node, one in statuses.items()}}
    )
    clipped = _summed(list(statuses.values()))
    record = agreed_record(Agreed(base, derived, config.data.tail_ppm, number), grid, clipped)
    connection.publish("dataset", record, retain=True)
    connection.flush()
    dataset = None if readings is None else on_agreed_grid(readings, record)
    return Agreement(record, dataset, outcome, tuple(_notes(record, grid, outcome)))


def _surveyed(connection: Connection, plan: RunPlan, limit_s: float, on_event: OnEvent | None) -> Outcome:
    """Make the survey. Raises NotAgreed where it does not finish."""
    if on_event is not None:
        on_event("surveying", {"run": plan.number})
    outcome = run(connection, plan, limit_s=limit_s, on_event=on_event)
    if not outcome.finished:
        raise NotAgreed(
            f"run {plan.number}, in which the nodes agree on the range, did not finish: {outcome.reason}",
            outcome,
        )
    return outcome


def _known(config: Config, held: str, found: Survey, kept: Dataset | None) -> Agreement | None:
    """What the nodes have agreed on before, by this host's folder or the broker; None for other than is wanted."""
    if kept is not None and _is_wanted(kept.record(), config, held, found):
        return Agreement(kept.record(), kept, None)
    published = found.dataset_record
    return (
        Agreement(published, None, None) if published and _is_wanted(published, config, held, found) else None
    )


def _is_wanted(record: Mapping[str, Any], config: Config, held: str, found: Survey) -> bool:
    """Whether the nodes hold the points of this record, and it is of the readings and the range that are wanted."""
    states = record.get("readings"), record.get("tail_ppm"), record.get("scale")
    holds = all(status.dataset == record.get("dataset") for status in found.statuses.values())
    return holds and states == (held, config.data.tail_ppm, config.data.scale)


def _readings_record(held: str, readings: ReadingSet | None, published: Json | None) -> Json:
    """The record of the readings that the nodes hold. Raises DckaError where nobody knows it."""
    if readings is not None:
        return readings.record()
    try:
        if published is not None and published.get("readings") == held:
            return readings_record(published)
        if published is not None and (published["dataset"], published.get("bits")) == (held, READINGS):
            return published
    except (KeyError, TypeError, IndexError):
        pass
    raise DckaError(
        f"the nodes hold the readings {held}, and neither the broker nor this folder knows their units; "
        "inject them again"
    )


def survey_grid(outcome: Outcome, node: int) -> SurveyGrid:
    """The grid that the last commit of a node leads to. Raises OutcomeError where it has none."""
    return grid_of(read_run(outcome.record), decode_commit(outcome, node).centres)


def _grid(outcome: Outcome, base: Mapping[str, Any]) -> tuple[Grid, bytes]:
    """The grid of a finished survey, by the greatest of its commits; and the data set that follows from it."""
    best = greatest_holder(outcome)
    made = survey_grid(outcome, best)
    decimals = (int(base["decimals"]),) * len(made.low)
    whole = WholeGrid(tuple(made.low), tuple(made.width), tuple(made.extents), decimals, made.bits)
    grid = Grid.of_whole(whole, outcome.record["scale"], tuple(base["constant"]))
    return grid, made.dataset(bytes.fromhex(str(base["dataset"])))


def _await_points(
    connection: Connection, outcome: Outcome, derived: bytes, limit_s: float
) -> dict[int, NodeStatus]:
    """The statuses of all members that were there at the end, once they show their points. Raises NotAgreed."""
    members = [node for node in outcome.members if node not in outcome.absent]
    inbox = Inbox(connection, {})
    connection.subscribe("status/+")
    connection.ask("status/+")

    def decided() -> bool:
        late = [inbox.statuses.get(node) for node in _without(inbox, members, outcome.run, derived)]
        return all(status is not None and status.run == outcome.run and status.problem for status in late)

    inbox.until(decided, limit_s, "status/+")
    late = _without(inbox, members, outcome.run, derived)
    if late:
        statuses = {node: inbox.statuses.get(node) for node in late}
        said = [f"node {node} says: {one.problem}" for node, one in statuses.items() if one and one.problem]
        words = f"{named(late)} agreed on the range, and did not make the points of it"
        reason = said[0] if said else f"nothing came of it within {limit_s:g} s; run again"
        raise NotAgreed(f"{words}: {reason}", outcome)
    return {node: inbox.statuses.by_node[node] for node in members}


def _without(inbox: Inbox, members: Collection[int], number: int, derived: bytes) -> list[int]:
    """Who has not told of points of this data set, made after this survey."""
    late = []
    for node in members:
        status = inbox.statuses.get(node)
        if status is None or (status.run, status.dataset) != (number, derived.hex()) or not status.clipped:
            late.append(node)
    return late


def _summed(statuses: Collection[NodeStatus]) -> list[int]:
    """What all nodes have clipped: of each dimension, or where they are many, one total."""
    return [sum(column) for column in zip(*(status.clipped for status in statuses), strict=True)]


def _notes(record: Mapping[str, Any], grid: Grid, outcome: Outcome) -> list[str]:
    """What came out, in sentences."""
    columns, constant = list(record["columns"]), set(record["constant"])
    top = grid.to_units(grid.extents).tolist()
    ends = [f"{name} {low:g} to {high:g}" for name, low, high in zip(columns, grid.offset, top, strict=True)]
    points = sum(int(entry["rows"]) for entry in record["nodes"].values())
    clipped = list(record["clipped"])
    by_column = [f"{name} {count:,}" for name, count in zip(columns, clipped, strict=False) if count]
    which = f" ({listed(by_column)})" if len(clipped) == len(columns) and by_column else ""
    said = [
        f"run {outcome.run}: the nodes agreed on the range {listed(ends)}; "
        f"{sum(clipped):,} of {points * len(columns):,} numbers are clipped{which}"
    ]
    if outcome.missing:
        said.append(
            f"{named(outcome.missing)} took no part in some or all of it, so the range may leave out readings of theirs"
        )
    for name, extent in zip(columns, grid.extents, strict=True) if grid.scale != "one" else ():
        if name in constant:
            said.append(f"column {shown(name)} is constant: there is no spread to scale it by; leave it out")
        elif extent == 0:
            said.append(
                f"column {shown(name)}: so many readings are the same that both ends of the range are; all others are "
                'clipped. Take a smaller tail, or range = "minmax"'
            )
    return said
