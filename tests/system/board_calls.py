"""Boards that are plugged in, an image for them, and `dcka board flash` as a person calls it."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from esp_images import whole_image
from mock_board import MockBoard

from dcka.cli import main

MAC = "24:0a:c4:00:00:{:02x}"


@contextmanager
def plugged(*chips: str) -> Iterator[list[MockBoard]]:
    """Boards with these chips, whose ports are all that there are; their MACs are MAC.format(0), (1), …"""
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        boards = [
            stack.enter_context(MockBoard(chip, MAC.format(number))) for number, chip in enumerate(chips)
        ]
        patch.setattr("serial.tools.list_ports.comports", list)
        patch.setenv("DCKA_PORTS", ":".join(board.port for board in boards))
        yield boards


def image_file(folder: Path) -> Path:
    """A file with a small image for an ESP32."""
    file = folder / "esp32.bin"
    file.write_bytes(whole_image("esp32"))
    return file


def called(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, dict[str, Any], str]:
    """`dcka board flash --json …`: exit code, record, and what was said on stderr."""
    capsys.readouterr()
    code = main(["board", "flash", "--json", *map(str, arguments)])
    said = capsys.readouterr()
    return code, json.loads(said.out) if said.out else {}, said.err
