"""A look at the network before a run is planned: who is there, what they hold, which number the run gets."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from dcka.config import State
from dcka.mqtt.connection import Connection, Message
from dcka.mqtt.inbox import Inbox
from dcka.mqtt.readiness import READY_S, NotReady, await_online, await_settled, named, without_readings
from dcka.mqtt.statuses import NodeStatus, PayloadError, read_object, whole
from dcka.runs.outcome import Outcome

Json = dict[str, Any]


@dataclass(frozen=True)
class Survey:
    """`statuses`: by node, of the nodes that were asked for, all online. `dataset_record`: the data set's at the
    broker, None where it keeps none. `last_number`: the greatest run that broker or nodes speak of."""

    statuses: dict[int, NodeStatus]
    dataset_record: Json | None
    last_number: int = 0
    max_message: dict[int, int] = field(default_factory=dict)

    def held_dataset(self) -> str:
        """The data set that all nodes hold, 16 hex digits. Raises NotReady where they differ or have none."""
        held: dict[str, list[int]] = {}
        for node, status in sorted(self.statuses.items()):
            held.setdefault(status.dataset, []).append(node)
        if "" in held:
            for node in held[""]:
                if self.statuses[node].problem:
                    said = f"node {node} says: {self.statuses[node].problem}"
                    raise NotReady(f"{said}; give the nodes their readings with dcka inject", held[""])
            raise NotReady(
                f"{named(held[''])}: no data there; give the nodes their readings with dcka inject", held[""]
            )
        if len(held) > 1:
            parts = "; ".join(f"{named(nodes)}: {dataset}" for dataset, nodes in held.items())
            raise NotReady(
                f"the nodes hold different data sets ({parts}); give all the same with dcka inject"
            )
        return next(iter(held))

    def held_readings(self) -> str:
        """The readings that all nodes hold, 16 hex digits. Raises NotReady where they differ, or some have none."""
        without_readings([node for node, status in self.statuses.items() if not status.readings])
        first = next(iter(self.statuses.values())).readings
        if any(status.readings != first for status in self.statuses.values()):
            raise NotReady("the nodes hold different readings; give all the same with dcka inject")
        return first


def survey(
    connection: Connection,
    nodes: Collection[int],
    ready_s: float = READY_S,
    tell: Callable[[Collection[int]], None] = lambda missing: None,
) -> Survey:
    """Wait for `nodes`, and read what the broker keeps. `tell`: as of `await_online`.

    Raises NotReady for who is absent or there twice.
    """
    kept: dict[str, Json] = {}

    def take_run(node: int, message: Message) -> None:
        if message.payload:
            record = read_object(message.payload)
            kept["run"] = {"run": max(whole(record, "run"), kept.get("run", {}).get("run", 0))}

    def take_dataset(node: int, message: Message) -> None:
        if message.payload:
            record = read_object(message.payload)
            if not isinstance(record.get("dataset"), str) or not isinstance(record.get("nodes"), dict):
                raise PayloadError("no record of a data set")
            kept["dataset"] = record

    inbox = Inbox(connection, {"run": take_run, "dataset": take_dataset})
    connection.subscribe("run", "dataset")
    connection.subscribe("status/+")
    await_online(inbox, nodes, ready_s, tell)
    inbox.drain()
    await_settled(inbox, nodes, lambda status: bool(status.dataset or status.readings))
    statuses = inbox.statuses.by_node
    spoken = [number for status in statuses.values() for number in (status.run, status.prepared)]
    asked = {node: statuses[node] for node in sorted(nodes)}
    return Survey(
        asked,
        kept.get("dataset"),
        max([kept.get("run", {}).get("run", 0), *spoken]),
        {node: status.max_message for node, status in asked.items() if status.max_message},
    )


def next_number(found: Survey, state: State) -> int:
    """The number of the next run: greater than whatever broker, nodes and state folder know.

    A run that did not finish was ended by an idle record with the number after its own, which is used too.
    """
    last = state.last_run()
    if last and not Outcome.load(state, last).finished:
        last += 1
    return 1 + max(found.last_number, last)
