"""Who is behind a port, from what USB and the registry tell: never more sure than one can be."""

from dcka.boards.ports import PortInfo
from dcka.boards.registry import Board
from dcka.boards.whose import Identity, mac_of_usb, same_board, serial_of, who_is

A, B = "aa:bb:cc:00:00:01", "aa:bb:cc:00:00:02"


def port(path: str, serial: str | None = None, location: str | None = None, vid: int = 0x10C4) -> PortInfo:
    return PortInfo(path, "CP2102", vid, 0xEA60, serial, location)


def test_a_serial_number_of_its_own_tells_the_board_wherever_it_is():
    boards = (Board(A, 1, "/dev/ttyUSB0", "S1"), Board(B, 2, "/dev/ttyUSB1", "S2"))
    swapped = [port("/dev/ttyUSB0", "S2"), port("/dev/ttyUSB1", "S1")]
    assert who_is(swapped[0], swapped, boards) == Identity(2, B, sure=True)
    assert who_is(swapped[1], swapped, boards) == Identity(1, A, sure=True)


def test_a_serial_number_that_two_have_or_that_all_have_tells_nothing():
    boards = (Board(A, 1, "/dev/ttyUSB0", "S1"), Board(B, 2, "/dev/ttyUSB1", "S1"))
    twins = [port("/dev/ttyUSB0", "S1"), port("/dev/ttyUSB1", "S1")]
    assert who_is(twins[1], twins, boards) == Identity(2, B, sure=False)
    assert who_is(twins[1], twins[1:], boards) == Identity(2, B, sure=False)  # the twin is not plugged in now
    assert serial_of(port("p", "0001"), ()) == ""


def test_the_mac_that_native_usb_gives_is_the_board():
    native = port("/dev/ttyACM0", "AA:BB:CC:00:00:01", vid=0x303A)
    assert mac_of_usb(native) == A
    assert mac_of_usb(port("p", "AA:BB:CC:00:00:01")) is None
    assert mac_of_usb(port("p", "123", vid=0x303A)) is None
    assert mac_of_usb(port("p", "AABBCC000001", vid=0x303A)) == A
    assert who_is(native, [native], (Board(A, 7, "/dev/ttyUSB9"),)) == Identity(7, A, sure=True)
    stranger = Board(B, 2, "/dev/ttyACM0")
    assert who_is(native, [native], (stranger,)) == Identity(None, A, sure=True)


def test_a_place_is_a_guess_and_none_where_another_serial_number_was_seen_there():
    boards = (Board(A, 1, "/dev/ttyUSB0", "S1"),)
    assert who_is(port("/dev/ttyUSB0"), [], boards) == Identity(1, A, sure=False)
    assert who_is(port("/dev/ttyUSB0", "S9"), [], boards) == Identity()
    assert who_is(port("/dev/ttyUSB5"), [], boards) == Identity()


def test_what_a_node_tells_is_sure_and_a_guess_that_it_contradicts_goes():
    assert Identity(1, A).told(1, "net") == Identity(1, A, "net", sure=True)
    assert Identity(1, A).told(2, "net") == Identity(2, None, "net", sure=True)
    assert Identity(1, A, sure=True).told(2, "net") == Identity(2, A, "net", sure=True)


def test_the_same_board_by_serial_number_then_by_socket_then_by_name():
    assert same_board(port("p", "S1", "1-1"), port("q", "S1", "1-2"), [])
    assert not same_board(port("p", "S1", "1-1"), port("p", "S2", "1-1"), [])
    assert not same_board(port("p", "S1", "1-1"), port("p", None, "1-1"), [])
    assert same_board(port("p", None, "1-1"), port("q", "0001", "1-1"), [])
    assert not same_board(port("p", None, "1-1"), port("p", None, "1-2"), [])
    assert same_board(port("p"), port("p"), []) and not same_board(port("p"), port("q"), [])
