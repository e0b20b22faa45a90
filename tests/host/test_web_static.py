"""What the page is made of: nothing from elsewhere, no markup out of data, and the library as its makers ship it."""

import hashlib
import re
from pathlib import Path

import pytest

from dcka import web

STATIC = Path(web.__file__).with_name("static")
OURS = sorted(file for file in STATIC.iterdir() if file.is_file())

# uPlot 1.6.32, from its package `uplot` of the npm registry, as it is.
VENDORED = {
    "uPlot-1.6.32.iife.min.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
    "uPlot-1.6.32.min.css": "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
    "uPlot-LICENSE.txt": "8f989229699b4fe2f1a0432d0e9edc338a8a911e250e2d1b01ecd770a5f5b1bd",
}


def test_the_charting_library_is_as_its_makers_ship_it_with_its_licence():
    found = {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in (STATIC / "vendor").iterdir()
    }
    assert found == VENDORED
    assert "1.6.32" in (STATIC / "index.html").read_text()


@pytest.mark.parametrize("file", OURS, ids=lambda file: file.name)
def test_nothing_comes_from_elsewhere_and_no_data_becomes_markup(file):
    text = file.read_text()
    text = text.replace("http://www.w3.org/2000/svg", "")  # the name of a namespace: nothing is fetched there
    assert not re.search(r"https?://|//cdn|@import|url\(", text)
    for forbidden in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "new Function",
        "DOMParser",
    ):
        assert forbidden not in text
    if file.suffix == ".html":
        assert not re.search(r"\son\w+=|\sstyle=|<style|<script>", text)


def test_every_picture_has_its_words():
    page = (STATIC / "index.html").read_text()
    for picture in ("map", "space", "ssd", "spread", "moved"):
        assert f'id="{picture}-words"' in page
        assert f'id="{picture}-table"' in page
