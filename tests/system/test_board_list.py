"""`dcka board list` on emulated boards: nodes, bare boards, blank chips, silent and busy ports, all at once."""

import fcntl
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from board_bench import NETWORK, Outcome, caller, node_files, write_network
from servers import LIMIT_S, TestClient, running

from dcka.boards import asking, identify
from dcka.boards.emulated import EmulatedBoard, Faults
from dcka.boards.registry import Registry
from dcka.config import State
from dcka.emulation.micropython import available

pytestmark = pytest.mark.skipif(not available(), reason=str(available().reason))

A, B, C, D = (f"24:0a:c4:00:00:0{number}" for number in (1, 2, 3, 4))


@pytest.fixture
def call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., Outcome]:
    # Long enough for these boards, which boot in a tenth of a second.
    monkeypatch.setattr(identify, "PATIENCE_S", 2.0)
    assert asking.PATIENCE_S > 2.0
    write_network(tmp_path)
    return caller(tmp_path, monkeypatch, capfd)


def rows(outcome: Outcome) -> dict[str, dict[str, object]]:
    return {row["port"]: row for row in outcome.json["ports"]}


def test_a_node_a_bare_board_and_a_blank_chip_at_once(tmp_path: Path, call: Callable[..., Outcome]):
    with (
        EmulatedBoard(tmp_path / "a", mac=A, extra_files=node_files(3)) as node,
        EmulatedBoard(tmp_path / "b", mac=B, chip="esp32s3") as bare,
        EmulatedBoard(tmp_path / "c", mac=C, chip="esp32c3", micropython=False) as blank,
    ):
        done = call("list", "--json", boards=(node, bare, blank))
        assert (done.code, done.err) == (0, "")
        found = rows(done)
        assert found[node.port] == {
            "port": node.port,
            "usb": "",
            "chip": "ESP32",
            "mac": A,
            "micropython": "1.29.0",
            "node": 3,
            "network": NETWORK,
            "firmware": "0.1.0",
            "problem": None,
            "guess": None,
        }
        assert (found[bare.port]["chip"], found[bare.port]["mac"]) == ("ESP32-S3", B)
        assert (found[bare.port]["node"], found[bare.port]["problem"]) == (None, None)
        assert (found[blank.port]["chip"], found[blank.port]["mac"]) == ("ESP32-C3", C)
        assert found[blank.port]["problem"] == f"no MicroPython answers: dcka board flash --port {blank.port}"

        registry = Registry(State(tmp_path / ".dcka"))
        assert {board.mac: (board.node, board.port) for board in registry.boards()} == {
            A: (3, node.port),
            B: (None, bare.port),
            C: (None, blank.port),
        }
        quick = call("list", "--quick", boards=(node, bare))
        assert "3?" in quick.out and A not in quick.out
        table = call("list", "--port", node.port, boards=(node,)).out
        assert all(word in table for word in ("ESP32", A, "1.29.0", NETWORK, "0.1.0"))


def test_a_node_that_was_asked_runs_again(tmp_path: Path, call: Callable[..., Outcome]):
    with running("embedded") as broker, TestClient(broker.address, "watcher") as watcher:
        watcher.subscribe(f"dcka/{NETWORK}/status/3")

        def boot_after(last: int) -> int:
            """The boot in which the node is ready, once that is a later one."""
            while True:
                status = json.loads(watcher.next(LIMIT_S).payload)
                if status["state"] == "ready" and status["boot"] > last:
                    return int(status["boot"])

        files = node_files(3, broker=f"mqtt://{broker.address.host}:{broker.address.port}")
        with EmulatedBoard(tmp_path / "a", mac=A, extra_files=files) as node:
            first = boot_after(0)
            assert rows(call("list", "--json", boards=(node,)))[node.port]["node"] == 3
            assert boot_after(first) > first


def test_quick_opens_nothing(tmp_path: Path, call: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch):
    opened: list[str] = []
    real = os.open

    def watched(path: str, *rest: int, **options: object) -> int:
        opened.append(str(path))
        return real(path, *rest, **options)

    monkeypatch.setattr(os, "open", watched)
    with EmulatedBoard(tmp_path / "a", mac=A) as board:
        done = call("list", "--quick", "--json", boards=(board,))
        assert [row["port"] for row in done.json["ports"]] == [board.port]
        assert board.port not in opened


def test_a_silent_port_ends_in_the_end_and_a_busy_one_is_left_alone(
    tmp_path: Path, call: Callable[..., Outcome]
):
    with (
        EmulatedBoard(tmp_path / "a", mac=A, faults=Faults(silent=True)) as silent,
        EmulatedBoard(tmp_path / "b", mac=B) as taken,
    ):
        descriptor = os.open(taken.port, os.O_RDWR | os.O_NOCTTY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            done = call("list", "--json", "--port", taken.port, "--port", silent.port)
            found = rows(done)
            assert "in use by" in str(found[taken.port]["problem"])
            assert found[silent.port]["problem"] == (
                f"neither MicroPython nor a bootloader answers: dcka board doctor --port {silent.port}"
            )
            assert done.code == 4
        finally:
            os.close(descriptor)


def test_a_missing_port_has_a_code_of_its_own(call: Callable[..., Outcome]):
    done = call("list", "--port", "/dev/ttyUSB99", "--json")
    assert done.code == 3
    assert "there is no port /dev/ttyUSB99" in done.json["ports"][0]["problem"]
    assert call("list").out.startswith("this computer sees no board")


def test_two_boards_with_one_id_are_told_and_the_registry_keeps_its_own(
    tmp_path: Path, call: Callable[..., Outcome]
):
    with (
        EmulatedBoard(tmp_path / "a", mac=A, extra_files=node_files(3)) as one,
        EmulatedBoard(tmp_path / "b", mac=B, extra_files=node_files(3)) as two,
    ):
        Registry(State(tmp_path / ".dcka")).assign(A, 3)
        found = rows(call("list", "--json", boards=(one, two)))
        assert all("another board here is node 3 too" in str(row["problem"]) for row in found.values())
        assert Registry(State(tmp_path / ".dcka")).node_of(B) is None
