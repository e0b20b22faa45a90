"""What goes wrong while boards are flashed: each has its line and its exit code, and stops no other board."""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from board_calls import MAC, called, image_file, plugged
from esp_images import whole_image
from mock_board import MockBoard

from dcka.boards.chips import Chip
from dcka.boards.errors import BoardError, BoardSilent, PortBusy, PortMissing, WrongChip
from dcka.boards.flash_ports import flash_ports
from dcka.boards.flashing import FlashJob, FlashOutcome, Progress, detect, detect_all, flash_boards
from dcka.boards.images import Image, parse_image
from dcka.boards.worker_pool import run_workers

IMAGE = whole_image("esp32")
HOLD = "import sys, serial; port = serial.Serial(sys.argv[1], exclusive=True); print('ready', flush=True); input()"


@pytest.fixture
def impatient(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """esptool waits 0.3 s for the answer to a block, and not 6 s."""
    settings = tmp_path / "esptool.cfg"
    settings.write_text("[esptool]\ntimeout = 0.3\nerase_write_timeout_per_mb = 1\n")
    monkeypatch.setenv("ESPTOOL_CFGFILE", str(settings))


def flashed(board: MockBoard, **settings: Any) -> FlashOutcome:
    (outcome,) = flash_boards([FlashJob(board.port, [(0x1000, IMAGE)], **settings)])
    assert (outcome.error is None) == outcome.ok == outcome.verified
    assert outcome.error is None or "\n" not in outcome.error
    return outcome


@pytest.mark.timed
def test_a_silent_port_is_known_for_one_within_five_seconds() -> None:
    with MockBoard() as board:
        board.silent = True
        begun = time.monotonic()
        with pytest.raises(BoardSilent, match="hold the board's BOOT button") as refused:
            detect(board.port)
        assert time.monotonic() - begun <= 5.0
    assert refused.value.exit_code == 6 and board.port in str(refused.value)


def test_a_flash_that_holds_something_else_is_not_called_verified() -> None:
    with MockBoard() as board:
        board.wrong_md5 = True
        outcome = flashed(board)
    assert outcome.exit_code == 1 and "does not hold what was written" in (outcome.error or "")


def test_a_cable_that_is_pulled_ends_it_at_once() -> None:
    with MockBoard() as board:
        board.unplug_after = 2
        outcome = flashed(board)
        assert board.bauds == [921600]
    assert f"{board.port} is gone" in (outcome.error or "") and outcome.baud is None
    assert "does not start" in (outcome.error or "")


@pytest.mark.usefixtures("impatient")
def test_what_breaks_off_is_tried_again_more_slowly() -> None:
    with MockBoard() as board:
        board.mute_above, board.mute_after = 230400, 2
        told: list[int] = []
        outcome = flash_boards(
            [FlashJob(board.port, [(0x1000, IMAGE)])],
            on_progress=lambda _, progress: told.append(progress.baud),
        )[0]
        assert outcome.ok and outcome.baud == 115200
        assert board.bauds == [921600, 460800]  # and then the ROM's own
        assert set(told) == {0, 921600, 460800, 115200}
        assert board.holds(0x1000, IMAGE)


@pytest.mark.usefixtures("impatient")
def test_what_breaks_off_at_every_speed_is_said_with_the_last() -> None:
    with MockBoard() as board:
        board.mute_above, board.mute_after = 0, 1
        outcome = flashed(board, bauds=(230400, 115200))
    assert "broke off at 115200 baud" in (outcome.error or "")
    assert "does not start" in (outcome.error or "")


def test_a_board_with_another_chip_is_left_as_it_is() -> None:
    with MockBoard("esp32s3") as board:
        before = bytes(board.flash.data)
        outcome = flashed(board, chip="esp32", erase=True)
        assert outcome.exit_code == WrongChip.exit_code
        assert "for an ESP32, " in (outcome.error or "") and "ESP32-S3" in (outcome.error or "")
        assert (board.writes, board.erased, bytes(board.flash.data)) == (0, 0, before)


def test_the_image_itself_is_asked_for_its_chip() -> None:
    image = whole_image("esp32c3")
    with MockBoard("esp32c6") as board:
        (outcome,) = flash_boards([FlashJob(board.port, [(0, image)], erase=True)])
        assert outcome.exit_code == WrongChip.exit_code and (board.writes, board.erased) == (0, 0)


def test_what_has_no_room_is_refused_before_anything_is_erased() -> None:
    with MockBoard() as board:
        (outcome,) = flash_boards(
            [FlashJob(board.port, [(0x1000, IMAGE), (0x3FFF00, bytes(0x200))], erase=True)]
        )
        assert "4194304 bytes of flash" in (outcome.error or "") and (board.writes, board.erased) == (0, 0)


def test_boards_that_changed_places_are_not_written() -> None:
    """The MAC that was detected has to be the MAC that is written."""
    with MockBoard(mac=MAC.format(1)) as one, MockBoard(mac=MAC.format(2)) as two:

        def swap(chip: Chip) -> Image:
            one.mac, two.mac = two.mac, one.mac
            return parse_image(IMAGE, "x.bin")

        outcomes = flash_ports([one.port, two.port], swap, erase=True)
        assert [outcome.ok for outcome in outcomes] == [False, False]
        assert all("changed places" in (outcome.error or "") for outcome in outcomes)
        assert (one.writes, one.erased, two.writes, two.erased) == (0, 0, 0, 0)
        again = flash_ports([one.port, two.port], lambda chip: parse_image(IMAGE, "x.bin"))
        assert [outcome.mac for outcome in again] == [MAC.format(2), MAC.format(1)]
        assert all(outcome.verified for outcome in again)


def test_a_busy_port_is_refused_with_its_holder_and_not_opened() -> None:
    with (
        MockBoard() as board,
        subprocess.Popen(
            [sys.executable, "-c", HOLD, board.port], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as process,
    ):
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        with pytest.raises(PortBusy, match=rf"pid {process.pid}"):
            detect(board.port)
        assert flashed(board).exit_code == PortBusy.exit_code
        process.communicate(b"\n", timeout=120)
        assert board.opened == 0


def test_a_missing_port_is_said_with_a_code_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, record, said = called(capsys, "--port", "/dev/ttyUSB99", "--image", image_file(tmp_path))
    assert code == PortMissing.exit_code
    assert record["failed"] == 1 and record["boards"][0]["error"] in said
    assert said.count("\n") == 1 and "Traceback" not in said


def test_four_at_once_of_which_one_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with plugged("esp32", "esp32", "esp32", "esp32") as boards:
        boards[2].wrong_md5 = True
        code, record, said = called(capsys, "--all", "--image", image_file(tmp_path), "--jobs", "4")
        assert code == 1 and (record["flashed"], record["failed"]) == (3, 1)
        by_port = {row["port"]: row for row in record["boards"]}
        for number, board in enumerate(boards):
            row = by_port[board.port]
            assert (row["chip"], row["mac"]) == ("esp32", MAC.format(number))
            assert row["ok"] == row["verified"] == (number != 2)
            assert (row["error"] is None) == (row["baud"] == 921600) == (number != 2)
            assert board.holds(0x1000, IMAGE) == (number != 2)
        assert said.count("\n") == 1 and boards[2].port in said


def test_one_silent_and_one_missing_do_not_keep_the_others() -> None:
    with MockBoard() as good, MockBoard() as silent:
        silent.silent = True
        found = detect_all([silent.port, "/dev/ttyUSB99", good.port])
    assert isinstance(found[0], BoardSilent) and isinstance(found[1], PortMissing)
    assert not isinstance(found[2], BoardError) and found[2].mac == good.mac


def test_at_most_as_many_work_at_a_time_as_was_said() -> None:
    at_work: set[str] = set()
    most = 0

    def tell(port: str, progress: Progress) -> None:
        nonlocal most
        if progress.phase in ("done", "failed"):
            at_work.discard(port)
        elif progress.phase != "waiting":
            at_work.add(port)
        most = max(most, len(at_work))

    with MockBoard() as one, MockBoard() as two:
        jobs = [FlashJob(board.port, [(0x1000, IMAGE)]) for board in (one, two)]
        assert all(outcome.ok for outcome in flash_boards(jobs, 1, tell))
    assert most == 1


def test_an_interruption_ends_the_workers() -> None:
    def interrupt(port: str, progress: Progress) -> None:
        if progress.phase == "writing":
            raise KeyboardInterrupt

    with MockBoard() as board:
        with pytest.raises(KeyboardInterrupt):
            flash_boards([FlashJob(board.port, [(0x1000, IMAGE)])], on_progress=interrupt)
        holders = [link for link in Path("/proc").glob("[0-9]*/fd/*") if _target(link) == board.port]
        assert holders == []


def _target(link: Path) -> str:
    try:
        return os.readlink(link)
    except OSError:
        return ""


def test_a_worker_that_fails_or_hangs_is_an_error_of_its_board_alone() -> None:
    with MockBoard() as board:
        request = {"do": "flash", "port": board.port, "attempts": 1, "parts": [], "bauds": []}
        (end,) = run_workers([request], 1, lambda index, event: None, 60)
        assert "failed with exit code 1: ValueError" in str(end.problem)
        board.silent = True
        (end,) = run_workers([{"do": "detect", "port": board.port, "attempts": 100}], 1, lambda *_: None, 1.0)
        assert "hangs" in str(end.problem)
