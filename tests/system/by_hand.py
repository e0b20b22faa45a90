"""Runs driven by hand, message by message, for tests of the nodes alone: what the host's own driver has to do."""

import json
import time
from pathlib import Path
from typing import Any

from servers import LIMIT_S, TestClient

from dcka.broker import BrokerUrl
from dcka.emulation.cpython import CPythonNetwork
from dcka.emulation.micropython import MicroPythonNetwork, available
from dcka.inject.dataset import Dataset
from dcka.topology import Graph, schedule

AGAIN_S = 0.5
"""How often what is retained is published and asked for again: NATS may lose what crosses a SUBSCRIBE."""

RUNTIMES: dict[str, type[MicroPythonNetwork] | type[CPythonNetwork]] = {
    name: runtime
    for name, runtime in (("micropython", MicroPythonNetwork), ("cpython", CPythonNetwork))
    if name == "cpython" or available()
}
"""The kinds of emulated nodes that this machine can run."""


def put_data(dataset: Dataset, folder: Path) -> None:
    """Each node's data file onto the flash that it will have in `folder`."""
    for node in dataset.node_ids:
        (folder / str(node)).mkdir(parents=True)
        (folder / str(node) / "data.bin").write_bytes(dataset.data_file(node))


class ByHand:
    """A client that knows the nodes' newest statuses, results and steps, and starts runs."""

    def __init__(self, broker: BrokerUrl, network: str, name: str = "by-hand") -> None:
        self.client = TestClient(broker, name)
        self.network = network
        self.statuses: dict[int, dict[str, Any]] = {}
        self.results: dict[int, dict[str, Any]] = {}
        self.commits: dict[int, bytes] = {}
        self.all_statuses: list[dict[str, Any]] = []
        self._filters = [f"dcka/{network}/{kind}/+" for kind in ("status", "result", "commit")]
        self.client.subscribe(*self._filters)

    def close(self) -> None:
        self.client.__exit__()

    def take(self, limit: float) -> None:
        """Take one message in, if it comes within `limit` seconds."""
        try:
            message = self.client.next(limit)
        except Exception as error:
            assert type(error).__name__ == "Empty", error
            return
        kind, _, node = message.topic.removeprefix(f"dcka/{self.network}/").partition("/")
        if not message.payload:
            return
        if kind == "commit":
            self.commits[int(node)] = message.payload
            return
        record = json.loads(message.payload)
        if kind == "status":
            self.statuses[int(node)] = record
            self.all_statuses.append(record)
        else:
            self.results[int(node)] = record

    def until(self, condition: Any, what: str, again: Any = None, limit: float = LIMIT_S) -> None:
        """Take messages until `condition()`; every half second `again()` is called, or statuses asked for anew."""
        deadline = time.monotonic() + limit
        due = time.monotonic() + AGAIN_S
        while not condition():
            now = time.monotonic()
            assert now < deadline, f"not within {limit} s: {what}; {str(self.statuses)[:4000]}"
            if now > due:
                due = now + AGAIN_S
                (again or (lambda: self.client.subscribe(self._filters[0])))()
            self.take(min(0.05, max(0.0, deadline - now)))

    def online(self, nodes: Any, boot: int | None = None) -> None:
        """Wait until all these nodes are online (in this boot)."""

        def all_there() -> bool:
            known = [self.statuses.get(node, {"state": "offline"}) for node in nodes]
            return all(one["state"] != "offline" and boot in (None, one.get("boot")) for one in known)

        self.until(all_there, f"nodes {list(nodes)} are online")

    def publish(self, topic: str, record: Any) -> None:
        self.client.publish(f"dcka/{self.network}/{topic}", json.dumps(record).encode(), retain=True)

    def prepare(
        self, number: int, kind: str, dataset: Dataset, graph: Graph, **settings: Any
    ) -> dict[str, Any]:
        """Publish the rows of a run, wait until all nodes have them, and return the run's record."""
        plan = schedule(graph, kind)
        rows = plan.row_records(number)

        def say() -> None:
            for node, row in rows.items():
                self.publish(f"rows/{node}", row)

        say()
        prepared = lambda: all(self.statuses[node].get("prepared") == number for node in rows)  # noqa: E731
        self.until(prepared, f"run {number} is prepared", say)
        return {
            "v": 1,
            "run": number,
            "kind": kind,
            "members": list(plan.members),
            "root": plan.root,
            "depth": plan.depth,
            "dataset": dataset.id.hex(),
            "points": dataset.size,
            "n": len(dataset.grid.extents),
            "bits": dataset.grid.bits,
            "k": 9,
            "init": "local",
            "seed": 1,
            "max_steps": 100,
            "patience_ms": 500,
            "slots": 0,
            "max_slots": 200,
            "window": plan.window,
            "tolerance": 838,
            **settings,
        }

    def finish(self, record: dict[str, Any], limit: float = LIMIT_S) -> float:
        """Publish the run's record, wait for all results; the seconds that it took."""
        say = lambda: self.publish("run", record)  # noqa: E731
        self.results.clear()
        begun = time.monotonic()
        say()
        self.until(lambda: set(self.results) == set(record["members"]), "all results", say, limit)
        return time.monotonic() - begun
