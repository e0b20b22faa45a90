"""A folder as a user has it: network.toml, readings.csv, and a broker and nodes of one runtime that run."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from servers import running

from dcka.cli import main
from dcka.config import State, template
from dcka.emulation.cpython import CPythonNetwork
from dcka.emulation.micropython import MicroPythonNetwork, available
from dcka.mqtt.address import note_broker

RUNTIMES = ("micropython", "cpython")


@contextmanager
def lab_folder(runtime: str, place: Path, network: Mapping[str, Any], readings: str) -> Iterator[Path]:
    """The folder, while its nodes run; at the end none of them may have failed. Skips without MicroPython."""
    if runtime == "micropython" and not available():
        pytest.skip(str(available().reason))
    kind = MicroPythonNetwork if runtime == "micropython" else CPythonNetwork
    (place / "network.toml").write_text(template(network))
    (place / "readings.csv").write_text(readings)
    name, nodes = network["network"]["name"], network["network"]["nodes"]
    with running("embedded") as broker, kind(name, nodes, broker.address) as emulated:
        note_broker(State(place / ".dcka"), broker.address, os.getpid())
        yield place
        assert emulated.failures() == []


def caller(capsys: Any) -> Callable[..., tuple[int, str, str]]:
    """Calls dcka in this process; (code, stdout, stderr)."""

    def dcka(*arguments: str) -> tuple[int, str, str]:
        code = main(list(arguments))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return dcka
