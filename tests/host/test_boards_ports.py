"""Which ports there are, which are meant, and what is said of one that cannot be had."""

import contextlib
import errno
import fcntl
import os
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest
from serial.tools import list_ports
from serial.tools.list_ports_common import ListPortInfo

from dcka.boards import ports
from dcka.boards.errors import BoardError, PortBusy, PortForbidden, PortMissing
from dcka.boards.ports import PortInfo, check_port, chosen_ports, find_ports, holder
from dcka.errors import UsageError

HOST = Path(__file__).parents[2] / "host"
NOBODY = 65534
LOCKED = "import sys, serial; port = serial.Serial(sys.argv[1], exclusive=True)"
EXCLUSIVE = (
    "import fcntl, os, sys, termios; port = os.open(sys.argv[1], os.O_RDWR | os.O_NOCTTY); "
    "fcntl.ioctl(port, termios.TIOCEXCL)"
)


@pytest.fixture
def terminal() -> Iterator[str]:
    """A serial port that nobody has open."""
    master, slave = os.openpty()
    path = os.ttyname(slave)
    os.close(slave)
    yield path
    os.close(master)


@pytest.fixture(autouse=True)
def no_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    """This computer's own ports are left out."""
    monkeypatch.setattr(list_ports, "comports", list)
    monkeypatch.delenv("DCKA_PORTS", raising=False)


@contextlib.contextmanager
def held(path: str, code: str) -> Iterator[int]:
    """Another program that has the port open; its pid."""
    program = f"{code}; print('ready', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", program, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        yield process.pid
        process.communicate("\n", timeout=120)


def usb_port(path: str, product: str, maker: str) -> ListPortInfo:
    info = ListPortInfo(path)
    info.vid, info.pid, info.serial_number, info.location = 0x10C4, 0xEA60, "0001", "1-2.3"
    info.product, info.manufacturer, info.description = product, maker, product
    return info


def test_usb_ports_have_the_names_of_their_adapters(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = ListPortInfo("/dev/ttyS0")
    found = [
        usb_port("/dev/ttyUSB10", "CP2102", "Silicon Labs"),
        usb_port("/dev/ttyUSB9", "", "wch.cn"),
        plain,
    ]
    monkeypatch.setattr(list_ports, "comports", lambda: found)
    assert find_ports() == [
        PortInfo("/dev/ttyUSB9", "wch.cn", 0x10C4, 0xEA60, "0001", "1-2.3"),
        PortInfo("/dev/ttyUSB10", "CP2102, Silicon Labs", 0x10C4, 0xEA60, "0001", "1-2.3"),
    ]
    assert str(find_ports()[1]) == "/dev/ttyUSB10 (CP2102, Silicon Labs)"


def test_ports_that_the_environment_names_are_there_once(
    terminal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = tmp_path / "board"
    link.symlink_to(terminal)
    monkeypatch.setenv("DCKA_PORTS", os.pathsep.join([terminal, str(link), "", "/dev/other"]))
    assert {port.path for port in find_ports()} == {terminal, "/dev/other"}


def test_without_a_choice_all_ports_are_listed_and_none_is_opened(
    terminal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> int:
        raise AssertionError("a port was opened")

    monkeypatch.setenv("DCKA_PORTS", os.pathsep.join([terminal, "/dev/other"]))
    monkeypatch.setattr(os, "open", never)
    with pytest.raises(UsageError) as refused:
        chosen_ports([], all_=False)
    assert terminal in str(refused.value) and "/dev/other" in str(refused.value)
    assert refused.value.exit_code == 2
    assert len(chosen_ports([], all_=True)) == 2


def test_a_choice_means_these_ports_each_once(terminal: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DCKA_PORTS", "/dev/other")
    assert chosen_ports([terminal, terminal], all_=False) == [PortInfo(terminal)]
    with pytest.raises(UsageError, match="exclude"):
        chosen_ports([terminal], all_=True)


def test_no_port_at_all_is_said() -> None:
    with pytest.raises(PortMissing, match="no USB serial port"):
        chosen_ports([], all_=True)
    with pytest.raises(UsageError, match="no USB serial port"):
        chosen_ports([], all_=False)


def test_a_free_port_is_left_as_it_was(terminal: str) -> None:
    keeper = os.open(terminal, os.O_RDWR | os.O_NOCTTY)
    try:
        before = termios.tcgetattr(keeper)
        check_port(terminal)
        check_port(terminal)
        assert termios.tcgetattr(keeper) == before
        fcntl.flock(keeper, fcntl.LOCK_EX | fcntl.LOCK_NB)  # no lock is left
    finally:
        os.close(keeper)
    assert holder(terminal) is None


@pytest.mark.parametrize("code", [LOCKED, EXCLUSIVE], ids=["flock", "TIOCEXCL"])
def test_a_busy_port_names_its_holder(terminal: str, code: str) -> None:
    with held(terminal, code) as pid:
        with pytest.raises(PortBusy, match=rf"in use by \S+ \(pid {pid}\)") as refused:
            check_port(terminal)
        assert refused.value.exit_code == 4
        assert (holder(terminal) or "").endswith(f"(pid {pid})")
    if code == LOCKED:  # a pseudo terminal keeps TIOCEXCL after its last client, a device does not
        check_port(terminal)


def test_a_missing_port_and_a_file_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(PortMissing, match="no port"):
        check_port(str(tmp_path / "ttyUSB0"))
    file = tmp_path / "file"
    file.write_bytes(b"")
    with pytest.raises(BoardError, match="no serial port"):
        check_port(str(file))
    assert file.read_bytes() == b""


def test_a_port_of_another_user_is_forbidden(terminal: str) -> None:
    """For real: root can open everything, so as root another user tries."""
    if os.getuid() != 0:
        os.chmod(terminal, 0o020)
        with pytest.raises(PortForbidden, match="you may not open"):
            check_port(terminal)
        return
    os.chmod(terminal, 0o660)
    os.chown(terminal, 0, 5)
    code = (
        "import os, sys\nfrom dcka.boards import ports\nfrom dcka.boards.errors import PortForbidden\n"
        f"os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})\n"
        "try:\n    ports.check_port(sys.argv[1])\nexcept PortForbidden as error:\n    print(error)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code, terminal],
        capture_output=True, text=True, timeout=120, env={**os.environ, "PYTHONPATH": str(HOST)},
    )  # fmt: skip
    assert answer.stdout.startswith(f"you may not open {terminal}"), answer
    assert "sudo usermod -aG tty $USER, then log out and in again" in answer.stdout


@pytest.mark.parametrize(
    ("number", "kind", "code"),
    [
        (errno.ENOENT, PortMissing, 3),
        (errno.ENXIO, PortMissing, 3),
        (errno.ENODEV, PortMissing, 3),
        (errno.EBUSY, PortBusy, 4),
        (errno.EAGAIN, PortBusy, 4),
        (errno.EACCES, PortForbidden, 5),
        (errno.EPERM, PortForbidden, 5),
        (errno.EIO, BoardError, 1),
        (errno.EMFILE, BoardError, 1),
    ],
    ids=lambda value: errno.errorcode.get(value, "") if isinstance(value, int) and value > 1 else None,
)
def test_each_refusal_of_the_system_has_one_line(number: int, kind: type[BoardError], code: int) -> None:
    def refuse(path: str, flags: int) -> int:
        assert flags == os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK
        raise OSError(number, os.strerror(number))

    with pytest.raises(BoardError) as refused:
        check_port("/dev/ttyUSB7", refuse)
    assert type(refused.value) is kind and refused.value.exit_code == code
    assert "/dev/ttyUSB7" in str(refused.value) and "\n" not in str(refused.value)


def test_lsof_tells_the_holder_where_there_is_no_proc(
    terminal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "lsof"
    tool.write_text(f"#!/bin/sh\nprintf 'p{os.getpid()}\\ncpytest\\np4711\\ncminicom\\n'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert ports._holder_by_lsof(terminal) == "minicom (pid 4711)"
