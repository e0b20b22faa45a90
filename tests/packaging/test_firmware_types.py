"""mypy with MicroPython's stubs: mistakes that CPython's would not know are told."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent

pytestmark = pytest.mark.slow

# Each line that ends with a word in square brackets is a mistake of that kind; the others are right.
PLANTED = """\
import gc
import machine
import network
import socket
import time
import dataclasses  # [import-not-found]
import functools  # [import-not-found]


def blink() -> int:
    pin = machine.Pin(2, machine.Pin.OUT)
    pin.value(1)
    pin.set_value(1)  # [attr-defined]
    station = network.WLAN(network.STA_IF)
    station.connect("name", "secret")
    station.conect("name", "secret")  # [attr-defined]
    time.monotonic()  # [attr-defined]
    time.ticks_diff("0", 1)  # [call-overload]
    socket.create_connection(("host", 1883))  # [attr-defined]
    gc.mem_alloc()
    return "1"  # [return-value]
"""


def test_planted_mistakes_are_found_and_nothing_else(tmp_path):
    planted = tmp_path / "planted.py"
    planted.write_text(PLANTED, "utf-8")
    command = [sys.executable, str(ROOT / "tools" / "mypy_firmware.py"), str(planted)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    found = []
    for line in done.stdout.splitlines():
        if ": error: " in line:
            found.append((int(line.split(":")[1]), line.rsplit(" ", 1)[1]))
    expected = [
        (number, line.rsplit("# ", 1)[1])
        for number, line in enumerate(PLANTED.splitlines(), start=1)
        if line.endswith("]")
    ]
    assert sorted(found) == expected, done.stdout
    assert done.returncode == 1
