"""Two nodes of one id, which throw each other out (case C23): for a minute, on both brokers and both runtimes."""

import contextlib
import time

import pytest
from by_hand import RUNTIMES
from servers import ENGINES, running
from wire import CONNECT, Wire

from dcka.mqtt import Connection
from dcka.mqtt.inbox import Inbox
from dcka.mqtt.readiness import NotReady
from dcka.runs.survey import survey

NODES, TWIN = (1, 2, 3), 2
MINUTE_S, NAMED_S = 60.0, 30.0
MOST = 10
"""CONNECTs of both together in the first minute: the pauses grow although each is let in."""


class Watched:
    """A network of three nodes and one more of the id 2. `named_s`: after how long the host named it."""

    def __init__(self, stack: contextlib.ExitStack, engine: str, runtime: str) -> None:
        self.network = f"{engine}-{runtime}"
        broker = stack.enter_context(running(engine))
        self.wire = stack.enter_context(Wire(lambda: broker.address))
        self.connection = stack.enter_context(Connection(broker.address, self.network))
        self.connection.subscribe("status/+")
        self.inbox = Inbox(self.connection, {})
        self.named_s: float | None = None
        kind = RUNTIMES[runtime]
        self.begun = time.monotonic()
        self.nodes = [stack.enter_context(kind(self.network, ids, self.wire.url)) for ids in (NODES, (TWIN,))]

    def look(self) -> None:
        """Take what has come."""
        while self.inbox.turn(0):
            pass
        if self.named_s is None and TWIN in self.inbox.statuses.twins:
            self.named_s = time.monotonic() - self.begun

    def connects(self, node: int) -> int:
        name = f"dcka-{self.network}-{node}"
        said = self.wire.of(CONNECT, name)
        return sum(one.at < said[0].at + MINUTE_S for one in said)


@pytest.mark.timeout(240)
def test_they_are_named_soon_and_connect_ever_less_often() -> None:
    with contextlib.ExitStack() as stack:
        places = [Watched(stack, engine, runtime) for engine in ENGINES for runtime in RUNTIMES]
        end = time.monotonic() + MINUTE_S
        while time.monotonic() < end:
            for one in places:
                one.look()
            time.sleep(0.02)
        for one in places:
            assert one.named_s is not None, one.network
            assert one.named_s < NAMED_S, one.network
            assert one.connects(TWIN) <= MOST, (one.network, one.connects(TWIN))
            assert [one.connects(node) for node in (1, 3)] == [1, 1], one.network
            assert one.inbox.statuses.twins == {TWIN}
            # Whoever asks now for the first time is told, too, and no run begins.
            with pytest.raises(NotReady, match="node 2: two devices or processes use the same id"):
                survey(one.connection, NODES, ready_s=20)
            assert [failure for nodes in one.nodes for failure in nodes.failures()] == []
