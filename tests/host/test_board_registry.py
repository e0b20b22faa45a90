"""boards.json: a MAC keeps its node whatever happens to the ports, and several programs may write at once."""

import json
import multiprocessing
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcka.boards.registry import Board, Registry, RegistryError
from dcka.config import State, StateError

A, B, C = (f"aa:bb:cc:00:00:0{number}" for number in (1, 2, 3))


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Registry(State(tmp_path / ".dcka"))


def test_nothing_is_known_and_nothing_is_made_before_something_is_written(registry: Registry):
    assert registry.boards() == ()
    assert (registry.node_of(A), registry.mac_of(1), registry.port_of(1)) == (None, None, None)
    assert not registry.file.parent.exists()


def test_a_board_is_found_by_either_case_of_its_mac_and_by_its_node(registry: Registry):
    assert registry.assign(A.upper(), 3) is None
    registry.seen(A.replace(":", "-"), "/dev/ttyUSB0", serial="0001", name="CP2102")
    assert registry.boards() == (Board(A, 3, "/dev/ttyUSB0", "0001", "CP2102"),)
    assert (registry.node_of(A), registry.mac_of(3), registry.port_of(3)) == (3, A, "/dev/ttyUSB0")


def test_two_boards_that_swap_ports_keep_their_ids(registry: Registry):
    for mac, node, port in ((A, 1, "/dev/ttyUSB0"), (B, 2, "/dev/ttyUSB1")):
        registry.assign(mac, node)
        registry.seen(mac, port)
    registry.seen(A, "/dev/ttyUSB1")
    assert registry.port_of(2) is None  # somebody else is there, and nobody knows yet where it is
    registry.seen(B, "/dev/ttyUSB0")
    assert [(board.node, board.port) for board in registry.boards()] == [
        (1, "/dev/ttyUSB1"),
        (2, "/dev/ttyUSB0"),
    ]


def test_an_id_is_of_one_board_and_the_one_that_lost_it_is_named(registry: Registry):
    registry.assign(A, 1)
    assert registry.assign(B, 1) == A
    assert (registry.node_of(A), registry.node_of(B)) == (None, 1)
    assert registry.assign(B, 1) is None


def test_what_a_call_does_not_say_of_a_port_stays(registry: Registry):
    registry.seen(A, "/dev/ttyUSB0", serial="X", name="CP2102")
    registry.seen(A, "/dev/ttyUSB3")
    assert registry.boards() == (Board(A, None, "/dev/ttyUSB3", "X", "CP2102"),)
    registry.forget(A)
    registry.forget(A)
    assert registry.boards() == ()


@pytest.mark.parametrize("node", [0, -1, 65536, True])
def test_ids_that_are_none_are_refused(registry: Registry, node: int):
    with pytest.raises(RegistryError, match="ids are 1 to 65535"):
        registry.assign(A, node)


@pytest.mark.parametrize("mac", ["", "aa:bb", A + ":00", "zz:bb:cc:00:00:01"])
def test_macs_that_are_none_are_refused(registry: Registry, mac: str):
    with pytest.raises(RegistryError, match="is no MAC"):
        registry.seen(mac, "/dev/ttyUSB0")


_WHOLE = {"mac": A, "node": 1, "port": None, "serial": "", "name": ""}
_DAMAGED = {
    "it is not of version 1": [],
    "boards is missing": {"v": 1},
    "node is missing": {"v": 1, "boards": [{"mac": A}]},
    "mac is 'x'": {"v": 1, "boards": [_WHOLE | {"mac": "x"}]},
    "has the node 0": {"v": 1, "boards": [_WHOLE | {"node": 0}]},
    "has the port 7": {"v": 1, "boards": [_WHOLE | {"port": 7}]},
    "has the serial None": {"v": 1, "boards": [_WHOLE | {"serial": None}]},
    "node 1 is there twice": {"v": 1, "boards": [_WHOLE, _WHOLE | {"mac": B}]},
    f"mac {A} is there twice": {"v": 1, "boards": [_WHOLE, _WHOLE | {"node": 2}]},
}


@pytest.mark.parametrize("why", _DAMAGED)
def test_a_damaged_file_is_told_and_stays_as_it_is(registry: Registry, why: str):
    registry.file.parent.mkdir()
    registry.file.write_text(json.dumps(_DAMAGED[why]))
    for call in (registry.boards, lambda: registry.assign(A, 2)):
        with pytest.raises(RegistryError) as caught:
            call()
        assert why in str(caught.value) and str(registry.file) in str(caught.value)
    assert json.loads(registry.file.read_text()) == _DAMAGED[why]


def test_a_file_that_was_cut_short_is_told(registry: Registry):
    registry.assign(A, 1)
    registry.file.write_bytes(registry.file.read_bytes()[:-9])
    with pytest.raises(StateError, match="is no JSON"):
        registry.node_of(A)


def test_a_write_that_fails_leaves_the_old_file(registry: Registry, monkeypatch: pytest.MonkeyPatch):
    registry.assign(A, 1)
    before = registry.file.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(StateError, match="No space left"):
        registry.assign(B, 2)
    assert registry.file.read_bytes() == before
    assert {file.name for file in registry.file.parent.iterdir()} == {
        ".gitignore",
        "boards.json",
        "boards.lock",
    }


def _claim(folder: Path, mac: str, start: "multiprocessing.synchronize.Barrier", nodes: range) -> None:
    start.wait(20)
    registry = Registry(State(folder))
    with registry.alone():
        taken = {board.node for board in registry.boards()}
        registry.assign(mac, next(node for node in nodes if node not in taken))


def test_programs_that_write_at_once_lose_nothing_and_get_ids_of_their_own(tmp_path: Path):
    folder = tmp_path / ".dcka"
    context = multiprocessing.get_context("fork")
    count = 6
    start = context.Barrier(count)
    macs = [f"aa:bb:cc:00:01:{number:02x}" for number in range(count)]
    children = [
        context.Process(target=_claim, args=(folder, mac, start, range(1, count + 1))) for mac in macs
    ]
    for child in children:
        child.start()
    for child in children:
        child.join(20)
    assert [child.exitcode for child in children] == [0] * count
    boards = Registry(State(folder)).boards()
    assert {board.mac for board in boards} == set(macs)
    assert [board.node for board in boards] == list(range(1, count + 1))


def test_nobody_comes_between_within_a_block_and_blocks_may_be_nested(registry: Registry):
    entered = threading.Event()

    def other() -> None:
        entered.set()
        Registry(registry._state).assign(B, 1)

    thread = threading.Thread(target=other)
    with registry.alone(), registry.alone():
        thread.start()
        assert entered.wait(20)
        registry.assign(A, 1)
        assert registry.mac_of(1) == A
    thread.join(20)
    assert registry.mac_of(1) == B
    with pytest.raises(ZeroDivisionError), registry.alone():
        raise ZeroDivisionError
    assert registry.assign(A, 2) is None


_CALLS = st.lists(
    st.one_of(
        st.tuples(st.just("assign"), st.sampled_from((A, B, C)), st.integers(1, 3)),
        st.tuples(st.just("seen"), st.sampled_from((A, B, C)), st.sampled_from(("p", "q"))),
    ),
    max_size=12,
)


@settings(deadline=None, max_examples=40)  # each call waits for the disk
@given(calls=_CALLS)
def test_whatever_is_called_a_node_and_a_port_are_of_one_board(
    tmp_path_factory: pytest.TempPathFactory, calls: list[tuple[str, str, object]]
):
    registry = Registry(State(tmp_path_factory.mktemp("registry")))
    for name, mac, value in calls:
        before = registry.boards()
        getattr(registry, name)(mac, value)
        for other in before:
            if name == "seen" or other.node != registry.node_of(mac):
                assert registry.node_of(other.mac) == other.node or other.mac == mac
    boards = registry.boards()
    for values in ([b.node for b in boards if b.node], [b.port for b in boards if b.port]):
        assert len(values) == len(set(values))
