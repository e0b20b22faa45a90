"""Which board becomes which node, and which broker boards are told."""

import os
import pty

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dcka.boards.assigning import Candidate, assigned
from dcka.boards.broker_choice import broker_for_boards, is_pty
from dcka.boards.ports import PortInfo
from dcka.boards.registry import Board
from dcka.broker.own_address import is_loopback, own_address
from dcka.config import State, from_mapping
from dcka.errors import UsageError

IDS = (1, 2, 3, 4, 5)


def mac(number):
    return f"24:0a:c4:00:00:{number:02x}"


def candidate(number, location=None, says=None):
    return Candidate(PortInfo(f"/dev/ttyUSB{number}", location=location), mac(number), says)


def nodes(candidates, boards=(), ids=IDS, wanted=None):
    return {one.mac: one.node for one in assigned(candidates, ids, boards, wanted)}


def test_new_boards_get_ids_in_the_order_of_their_sockets():
    here = [candidate(1, "1-2.10"), candidate(2, "1-2.9"), candidate(3, "1-10"), candidate(4, "1-2")]
    assert [one.mac for one in assigned(here, IDS, ())] == [mac(4), mac(2), mac(1), mac(3)]
    assert [one.node for one in assigned(here, IDS, ())] == [1, 2, 3, 4]


def test_ports_without_a_socket_come_last_in_the_order_of_their_names():
    here = [candidate(10), candidate(9), candidate(11, "9-9")]
    assert nodes(here) == {mac(11): 1, mac(9): 2, mac(10): 3}


def test_known_boards_keep_their_ids_and_those_of_absent_boards_are_not_given_away():
    known = [Board(mac(7), 1), Board(mac(1), 3)]
    assert nodes([candidate(1), candidate(2)], known) == {mac(1): 3, mac(2): 2}


def test_a_board_that_says_who_it_is_keeps_its_id_unless_another_has_or_says_it():
    assert nodes([candidate(1), candidate(2, says=1)]) == {mac(1): 2, mac(2): 1}
    assert nodes([candidate(1, says=4), candidate(2, says=4)]) == {mac(1): 1, mac(2): 2}
    assert nodes([candidate(2, says=4)], [Board(mac(9), 4)]) == {mac(2): 1}
    assert nodes([candidate(2, says=9)]) == {mac(2): 1}


def test_an_id_that_left_the_network_is_given_anew():
    assert nodes([candidate(1)], [Board(mac(1), 40)]) == {mac(1): 1}


def test_more_boards_than_ids_are_refused_with_what_to_do():
    here = [candidate(number) for number in range(6)]
    with pytest.raises(
        UsageError, match=r"6 boards, 6 of them new, .* 5 of its 5 ids are free: raise \[network\] nodes"
    ):
        assigned(here, IDS, ())
    with pytest.raises(UsageError, match="no id is free"):
        assigned([candidate(1)], (1,), [Board(mac(8), 1)])


def test_one_board_may_be_given_any_id_of_the_network():
    (one,) = assigned([candidate(1)], IDS, [Board(mac(1), 3), Board(mac(2), 5)], 5)
    assert (one.node, one.why) == (5, "asked for")
    with pytest.raises(UsageError, match="--node 6 is not in the network"):
        assigned([candidate(1)], IDS, (), 6)
    with pytest.raises(UsageError, match="there are 2 boards"):
        assigned([candidate(1), candidate(2)], IDS, (), 5)


def test_one_board_on_two_ports_is_refused():
    twin = Candidate(PortInfo("/dev/ttyACM0"), mac(1))
    with pytest.raises(UsageError, match="the same board"):
        assigned([candidate(1), candidate(2), twin], IDS, ())


@given(
    st.lists(
        st.tuples(st.integers(0, 9), st.one_of(st.none(), st.integers(1, 6))),
        max_size=5,
        unique_by=lambda x: x[0],
    ),
    st.lists(st.integers(0, 9), max_size=5, unique=True),
)
def test_every_board_gets_an_id_of_its_own_and_known_ones_their_own(here, known):
    boards = [Board(mac(number), node) for node, number in enumerate(known, 1)]
    candidates = [candidate(number, says=says) for number, says in here]
    strangers = {number for number, _ in here} - set(known)
    if len(strangers) > len(IDS) - len(boards):
        with pytest.raises(UsageError):
            nodes(candidates, boards)
        return
    found = nodes(candidates, boards)
    assert len(set(found.values())) == len(here)
    assert set(found.values()) <= set(IDS)
    assert all(found.get(board.mac, board.node) == board.node for board in boards)
    assert nodes(reversed(candidates), boards) == found


def network(broker="embedded"):
    return from_mapping({"network": {"broker": broker}})


def test_a_board_is_never_sent_to_this_computers_loopback(tmp_path):
    state = State(tmp_path)
    with pytest.raises(UsageError, match=r"/dev/ttyUSB0 is a board.*--broker mqtt://"):
        broker_for_boards(network(), state, None, ["/dev/ttyUSB0"])
    with pytest.raises(UsageError, match="listens on this computer alone"):
        broker_for_boards(network("mqtt://192.168.1.10"), state, "embedded", ["/dev/ttyUSB0"])
    for url in ("mqtt://127.0.0.1", "mqtt://localhost:1883", "mqtt://[::1]", "mqtt://0.0.0.0"):
        with pytest.raises(UsageError, match="own loopback"):
            broker_for_boards(network(url), state, None, ["/dev/pts/1", "/dev/ttyUSB0"])


def test_a_broker_with_an_address_is_for_all(tmp_path):
    assert str(
        broker_for_boards(network("mqtt://192.168.1.10"), State(tmp_path), None, ["/dev/ttyUSB0"])
    ) == ("mqtt://192.168.1.10:1883")
    chosen = broker_for_boards(network(), State(tmp_path), "mqtt://10.0.0.1", ["/dev/ttyUSB0"])
    assert chosen.host == "10.0.0.1"


def test_an_emulated_board_reaches_loopback(tmp_path):
    main, side = pty.openpty()
    try:
        port = os.ttyname(side)
        link = tmp_path / "board"
        link.symlink_to(port)
        assert is_pty(port) and is_pty(str(link))
        assert broker_for_boards(network("mqtt://127.0.0.1:9"), State(tmp_path), None, [str(link)]).port == 9
        with pytest.raises(UsageError, match="start one with dcka broker"):
            broker_for_boards(network(), State(tmp_path), None, [port])
    finally:
        os.close(main)
        os.close(side)


@pytest.mark.parametrize("host", ["127.8.8.8", "LOCALHOST.", "::1", "::"])
def test_loopback_has_many_names(host):
    assert is_loopback(host)
    assert not is_loopback("192.168.1.10")
    assert not is_loopback("broker.example")


def test_this_computers_address_is_none_of_loopback():
    address = own_address()
    assert address is None or not is_loopback(address)
