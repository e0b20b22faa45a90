"""How tests speak to an emulated board: a line, its raw REPL, esptool."""

import contextlib
import subprocess
import sys

import pytest
import serial
from mpremote.transport_serial import SerialTransport
from servers import LIMIT_S

SOFT_RESET = b"MPY: soft reboot\r\n"
RAW = b"raw REPL; CTRL-B to exit\r\n>"
PROMPT = b">>> "
SYNC = b"\xc0\x00\x08\x24\x00\x00\x00\x00\x00\x07\x07\x12\x20" + 32 * b"\x55" + b"\xc0"
TALKER = b"n = 0\nwhile True:\n    print('telemetry', n)\n    n += 1\n"


@contextlib.contextmanager
def line(board):
    with serial.Serial(board.port, 115200, timeout=LIMIT_S) as opened:
        yield opened


@contextlib.contextmanager
def raw_repl(board):
    transport = SerialTransport(board.port, timeout=1)
    try:
        transport.enter_raw_repl(timeout_overall=5)
        yield transport
    finally:
        transport.close()


def said(opened, what):
    """Read until `what` comes; all that came."""
    heard = opened.read_until(what)
    assert heard.endswith(what), heard
    return heard


def assert_gone(opened):
    """The board has gone from the port that `opened` still holds; its name may have been given to another since."""
    with pytest.raises(OSError):
        while opened.read(1000):
            pass
        raise AssertionError("it is there, and says nothing")


def esptool(board, *words):
    base = [
        sys.executable,
        "-m",
        "esptool",
        "--port",
        board.port,
        "--before",
        "no-reset",
        "--after",
        "no-reset",
    ]
    return subprocess.run([*base, *words], capture_output=True, text=True, timeout=120, check=False)
