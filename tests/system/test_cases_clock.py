"""The wall clock of host and nodes is set by an hour, forth and back, in mid-run (case C33): nothing goes by it."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from servers import ENGINES, LIMIT_S, running, wait_until
from tapped import DATA, NETWORK, NODES, Tapped, final
from wire import CONNECT, Packet, Wire

from dcka.bench.faults.clock_faults import VARIABLE, SteppedNetwork
from dcka.inject.transfer import send
from dcka.mqtt import Connection

HOUR_S = 3600.0
PACKET_S = {"tree": 0.004, "gossip": 0.0003}
"""What each packet takes, so that there is a run for the clocks to be set in: `gossip` says twenty times as much."""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", ["tree", "gossip"])
def test_a_step_of_the_clock_costs_no_connection_and_no_time(
    engine: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offset = tmp_path / "offset"
    offset.write_text("0")
    monkeypatch.setenv(VARIABLE, str(offset))
    real = time.time
    steps = [-HOUR_S, HOUR_S]
    with ExitStack() as stack:
        broker = stack.enter_context(running(engine))
        wire = stack.enter_context(Wire(lambda: broker.address))
        nodes = stack.enter_context(SteppedNetwork(NETWORK, NODES, wire.url))
        connection = stack.enter_context(Connection(wire.url, NETWORK))
        send(connection, DATA, ready_s=LIMIT_S)
        lab = Tapped(broker, wire, nodes, connection)
        calm = final(lab.run(schedule=kind))
        before = len(wire.of(CONNECT))

        def set_clock(event: str, told: object) -> None:
            """With the first steps: once everybody has seen the one, the next."""
            if event != "step" or not steps:
                return
            by = steps.pop(0)
            monkeypatch.setattr(time, "time", lambda: real() + by)
            offset.write_text(str(by))
            seen = Path(f"{offset}.seen")
            wait_until(
                lambda: seen.is_file() and str(by) in seen.read_text().split(), "the nodes' clock is set"
            )

        wire.change = _slowed(PACKET_S[kind])
        begun = time.monotonic()
        outcome = lab.run(set_clock, schedule=kind)
        taken = time.monotonic() - begun
        wire.change = None
        assert steps == []
        assert final(outcome) == calm
        assert len(wire.of(CONNECT)) == before, "a connection was lost"
        assert 0 <= outcome.wall_s <= taken
        assert all(0 <= result["ms"] / 1000 <= taken for result in outcome.results.values())
        assert nodes.failures() == []


def _slowed(seconds: float) -> Callable[[Packet], list[bytes]]:
    def change(packet: Packet) -> list[bytes]:
        time.sleep(seconds)
        return [packet.raw()]

    return change
