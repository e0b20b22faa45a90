"""A network whose nodes and host speak to their broker through a tap (wire.py): for tests of what is on the wire."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from by_hand import RUNTIMES
from servers import running
from wire import Wire

from dcka.broker import Broker
from dcka.config import from_mapping
from dcka.datasets import gaussians
from dcka.emulation.cpython import CPythonNetwork
from dcka.emulation.micropython import MicroPythonNetwork
from dcka.inject.transfer import send
from dcka.mqtt import Connection
from dcka.runs.controller import run
from dcka.runs.outcome import Outcome, decode_commit
from dcka.runs.plan import RunPlan, plan
from dcka.runs.survey import survey

NETWORK = "sensors"
NODES = (1, 2, 3, 4, 5)
DATA = gaussians(3, len(NODES), 20)
BEST = next(iter(RUNTIMES))
"""MicroPython, where it runs."""

At = Callable[[str, dict[str, Any]], None]


class Tapped:
    """`broker`, `wire`, `nodes`, and the host's `connection`; the nodes have their data."""

    def __init__(
        self,
        broker: Broker | None,
        wire: Wire,
        nodes: MicroPythonNetwork | CPythonNetwork,
        connection: Connection,
    ) -> None:
        self._broker, self.wire, self.nodes, self.connection = broker, wire, nodes, connection
        self.last = 0

    @property
    def broker(self) -> Broker:
        """Where it is one that dcka has started."""
        assert self._broker is not None
        return self._broker

    def plan(self, **overrides: Any) -> RunPlan:
        """The next run, of these nodes as they are."""
        self.last += 1
        found = survey(self.connection, NODES, ready_s=30)
        config = from_mapping({"run": {"k": 9, "patience_ms": 300}})
        return plan(config, DATA.record(), self.last, max_message=found.max_message, **overrides)

    def run(self, at: At = lambda kind, data: None, limit_s: float = 60.0, **overrides: Any) -> Outcome:
        """The outcome of the next run; `at` is told its events."""
        return run(self.connection, self.plan(**overrides), limit_s=limit_s, on_event=at)


@contextmanager
def tapped(engine: str, runtime: str = BEST, **options: Any) -> Iterator[Tapped]:
    """All of it up; `options` go to the nodes. Nobody may have crashed in the end."""
    with ExitStack() as stack:
        broker = stack.enter_context(running(engine))
        wire = stack.enter_context(Wire(lambda: broker.address))
        nodes = stack.enter_context(RUNTIMES[runtime](NETWORK, NODES, wire.url, **options))
        connection = stack.enter_context(Connection(wire.url, NETWORK))
        send(connection, DATA, ready_s=30)
        yield Tapped(broker, wire, nodes, connection)
        assert nodes.failures() == []


def once(action: Callable[[], None], step: int = 1) -> At:
    """An event handler that does `action` once, when somebody tells that a step has ended that is no earlier."""
    done: list[int] = []

    def at(kind: str, data: dict[str, Any]) -> None:
        if kind == "step" and data["step"] >= step and not done:
            done.append(step)
            action()

    at.done = done  # type: ignore[attr-defined]
    return at


def final(outcome: Outcome) -> dict[int, tuple[Any, ...]]:
    """What every node holds in the end: step, centres, counts, SSD. All readings are in each step."""
    assert outcome.finished, outcome.reason
    assert outcome.missing == []
    commits = {node: decode_commit(outcome, node) for node in outcome.members}
    if outcome.kind == "tree":
        assert {sum(one.counts) for one in commits.values()} == {DATA.size}
    return {node: (one.step, tuple(one.centres), tuple(one.counts), one.ssd) for node, one in commits.items()}
