"""`dcka board doctor` on emulated boards: a node that is well, and some that are not."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from board_bench import NOBODY, Outcome, caller, node_files, readings, write_network
from servers import running

from dcka.boards.doctor import examine
from dcka.boards.doctor.look import look
from dcka.boards.emulated import EmulatedBoard
from dcka.boards.repl import open_repl
from dcka.emulation.micropython import available

pytestmark = pytest.mark.skipif(not available(), reason=str(available().reason))


@pytest.fixture
def call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., Outcome]:
    monkeypatch.setattr(examine, "PATIENCE_S", 2.0)
    write_network(tmp_path)
    return caller(tmp_path, monkeypatch, capfd)


@pytest.fixture(scope="module")
def broker() -> Iterator[str]:
    with running("embedded") as made:
        yield f"mqtt://{made.address.host}:{made.address.port}"


def verdicts(outcome: Outcome, port: str) -> dict[str, str]:
    return {
        check["check"]: check["verdict"] for check in outcome.json["checks"] if check["port"] in (port, None)
    }


def test_a_node_that_is_well_passes_all_and_runs_afterwards(
    tmp_path: Path, call: Callable[..., Outcome], broker: str
):
    write_network(tmp_path, broker=broker)
    files = {**node_files(3, broker=broker), "data.bin": readings({3: 50}).data_file(3)}
    with EmulatedBoard(tmp_path / "a", extra_files=files) as node:
        done = call("doctor", "--port", node.port, "--json", boards=(node,))
        assert done.code == 0, done.out
        found = verdicts(done, node.port)
        assert found.pop("driver") in ("ok", "note")
        assert done.json["well"] and set(found.values()) == {"ok"}
        assert {"node.json", "network", "data", "safe mode"} <= set(found)
        words = call("doctor", "--port", node.port, boards=(node,))
        assert words.code == 0 and "all is well" in words.out and "50 points of 2 dimensions" in words.out
        assert "\x1b" not in words.out


WRONG: dict[str, tuple[dict[str, bytes | None], str, str]] = {
    "no broker": ({}, "network", "no broker listens there"),
    "stopped": ({"stop": b""}, "safe mode", "there is a file /stop"),
    "failed": ({"failed.txt": b"5"}, "safe mode", "5 starts in a row came to nothing"),
    "foreign": ({"main.py": b"print('hello')\n"}, "firmware", "another program's"),
    "bare": ({"main.py": None}, "firmware", "no firmware"),
}


def test_what_is_wrong_with_each_of_five_boards_is_found(tmp_path: Path, call: Callable[..., Outcome]):
    with ExitStack() as stack:
        boards = {}
        for number, (name, (changes, _, _)) in enumerate(WRONG.items(), start=1):
            wanted = {**node_files(3), **changes}
            files = {path: content for path, content in wanted.items() if content is not None}
            board = EmulatedBoard(tmp_path / name, mac=f"24:0a:c4:00:00:{number:02x}", extra_files=files)
            boards[stack.enter_context(board).port] = name
        ports = [word for port in boards for word in ("--port", port)]
        done = call("doctor", *ports, "--json", "--wait", "3")
    assert done.code == 1
    wrong = [record for record in done.json["checks"] if record["verdict"] == "wrong"]
    found = {boards[record["port"]]: record for record in wrong}
    assert {name: record["check"] for name, record in found.items()} == {
        name: check for name, (_, check, _) in WRONG.items()
    }
    assert len(wrong) == len(WRONG)
    for name, (_, _, words) in WRONG.items():
        assert words in found[name]["says"]


def test_a_crash_is_found_and_whether_it_comes_again(tmp_path: Path, call: Callable[..., Outcome]):
    files = node_files(3)
    folder = next(path.split("/")[0] for path in files if path.startswith("fw-"))
    trace = (
        b'Traceback (most recent call last):\n  File "dcka_core.node", line 1, in receive\nValueError: no\n'
    )
    files["crash.txt"] = trace
    with EmulatedBoard(tmp_path / "a", extra_files=files) as node:
        once = call("doctor", "--all", "--json", "--wait", "0", boards=(node,))
        crash = next(record for record in once.json["checks"] if record["check"] == "crash")
        assert once.code == 0 and crash["verdict"] == "note"
        assert crash["says"] == 'it has crashed: ValueError: no, at "dcka_core.node", in receive'
        node.power_off()
        # A module that is whole, and not what the others need.
        node.put_files({f"{folder}/dcka_device/shell.mpy": node.files()[f"{folder}/dcka_core/starts.mpy"]})
        node.power_on()
        again = call("doctor", "--all", "--json", "--wait", "5", boards=(node,))
        network = next(record for record in again.json["checks"] if record["check"] == "network")
        assert again.code == 1 and network["verdict"] == "wrong" and "the node crashed" in network["says"]


def test_a_blank_chip_a_missing_port_and_no_port_at_all(tmp_path: Path, call: Callable[..., Outcome]):
    with EmulatedBoard(tmp_path / "a", micropython=False) as blank:
        done = call("doctor", "--all", "--json", boards=(blank,))
        wrong = [record for record in done.json["checks"] if record["verdict"] == "wrong"]
        assert done.code == 1 and [record["check"] for record in wrong] == ["micropython"]
        assert f"dcka board flash --port {blank.port}" in wrong[0]["todo"]
        untouched = call("doctor", boards=(blank,))
        assert untouched.code == 0 and "no board was touched" in untouched.err
    gone = call("doctor", "--port", "/dev/ttyUSB99", "--json")
    assert gone.code == 1 and verdicts(gone, "/dev/ttyUSB99")["port"] == "wrong"
    nothing = call("doctor")
    assert nothing.code == 1 and "many only charge" in nothing.out


def test_no_password_leaves_the_board(tmp_path: Path):
    files = node_files(3)
    name = next(path for path in files if path.endswith("node.json"))
    files[name] = (
        b'{"v":1,"network":"n","node":3,"broker":{"host":"h","password":"secret1"},'
        b'"wifi":{"ssid":"s","password":"secret2"}}'
    )
    with EmulatedBoard(tmp_path / "a", extra_files=files) as node, open_repl(node.port) as repl:
        found = look(repl)
    assert found.config["broker"]["password"] is True and found.config["wifi"]["password"] is True
    assert "secret" not in repr(found)
    assert (found.room is not None, found.boot_py, found.missing, found.data) == (True, True, (), None)
    assert NOBODY not in repr(found)
