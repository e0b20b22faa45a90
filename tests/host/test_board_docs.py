"""docs/boards.md has every message that a person can meet, and none that does not exist."""

import re
from pathlib import Path

import pytest
from board_messages import GAP, ROOT, console_lines, host_messages

from dcka.boards.doctor.board import Expected, check_board
from dcka.boards.doctor.look import Look
from dcka.boards.doctor.verdicts import Check
from dcka.boards.identify import BoardRow
from dcka.boards.joining import _BROKER_TROUBLE
from dcka.boards.logs import Event
from dcka.boards.serial_inject import BoardResult, totals
from dcka.boards.whose import Identity

GUIDE = (ROOT / "docs" / "boards.md").read_text()


def phrases(first: str, last: str | None = None) -> list[str]:
    """What stands in backticks in the first column of the tables between two headings."""
    part = GUIDE.partition(first)[2].partition(last or "\0")[0]
    rows = re.findall(r"^\| (`.*?) \| ", part, re.MULTILINE)
    return [phrase for row in rows for phrase in re.findall(r"`([^`]+)`", row)]


def fits(phrase: str, message: str) -> bool:
    """Whether the pieces of the phrase stand in the message in their order."""
    place = 0
    for piece in filter(None, (piece.strip(" :") for piece in phrase.split("…"))):
        place = message.find(piece, place)
        if place < 0:
            return False
        place += len(piece)
    return True


HOST = phrases("## Messages of the computer")
BOARD = phrases("## What a board says", "## Messages of the computer")


def sources() -> str:
    folders = (ROOT / "host/dcka/boards", ROOT / "host/dcka/cli/board", ROOT / "firmware")
    files = [file for folder in folders for file in sorted(folder.rglob("*.py"))]
    files.append(ROOT / "host/dcka/broker/password_files.py")
    text = "".join(file.read_text() for file in files)
    return re.sub(r'"\s*\n\s*f?"', "", re.sub(r"\{[^{}]*\}", GAP, text))


def test_every_error_of_the_board_verbs_is_in_the_guide():
    missing = [
        f"{where}: {text.replace(GAP, '…')}"
        for where, text in host_messages()
        if text.strip(f": {GAP}") and not any(fits(phrase, text) for phrase in HOST)
    ]
    assert missing == []


def test_every_line_of_a_board_is_in_the_guide():
    lines = [(where, text) for where, text in console_lines() if text.strip(GAP)]
    missing = [f"{where}: {text}" for where, text in lines if not any(fits(phrase, text) for phrase in BOARD)]
    assert missing == [] and len(lines) > 12


def test_every_cause_that_the_broker_fails_is_in_the_guide():
    assert set(_BROKER_TROUBLE) <= set(BOARD)


@pytest.mark.parametrize("phrase", sorted({*HOST, *BOARD}))
def test_no_message_of_the_guide_is_made_up(phrase: str):
    assert fits(phrase, sources())


def test_every_check_of_the_doctor_is_in_the_guide():
    look = Look("esp32", (1, 29, 0), "", (1, 1), folder="/fw-1")
    names = {check.name for check in check_board(look, Expected("0.1.0"), "p")}
    folder = Path(ROOT / "host/dcka/boards/doctor")
    names |= {
        name
        for file in folder.glob("*.py")
        for name in re.findall(r"(?:ok|note|wrong)\(\s*\"([a-z. ]+)\"", file.read_text())
    }
    documented = set(phrases("## 6. When something is wrong", "**The way back.**"))
    assert names == documented


def test_every_key_of_json_is_in_the_guide():
    part = GUIDE.partition("## The objects of --json")[2].partition("\n## ")[0]
    named = set(re.findall(r"`([a-z_]+)`", part))
    result = BoardResult("p", 1, 2, 3, False, 0.0, "", 0)
    event = Event("line", "p", Identity(), 0.0, "")
    check = Check("usb", "ok", "")
    records = (BoardRow("p", "").record(), result.record(), event.record(), check.record())
    keys = {key for record in records for key in record} | set(totals([result], [1]))
    assert keys | {"ports", "checks", "well", "kept"} <= named
