"""Boards are flashed through esptool, against its protocol's mock on pseudo terminals: what goes right."""

import subprocess
import sys
from pathlib import Path

import pytest
from board_calls import MAC, called, image_file, plugged
from esp_images import whole_image
from mock_board import MockBoard
from real_image import real_image

from dcka.boards.chips import CHIPS
from dcka.boards.flashing import FlashJob, Progress, detect, flash_boards
from dcka.cli import main

TESTED = ("esp32", "esp32s3", "esp32c3", "esp32c6")


@pytest.mark.parametrize("chip", TESTED)
def test_a_board_is_known_and_flashed_and_verified(chip: str) -> None:
    data = whole_image(chip)
    offset = CHIPS[chip].bootloader_offset
    with MockBoard(chip, MAC.format(1)) as board:
        board.flash.data[0x300000:0x300004] = b"kept"
        found = detect(board.port)
        assert (found.chip, found.mac, found.flash_bytes) == (CHIPS[chip], MAC.format(1), 4 << 20)
        assert board.writes == 0
        (outcome,) = flash_boards([FlashJob(board.port, [(offset, data)], chip, found.mac)])
        assert outcome.error is None and outcome.ok and outcome.verified
        assert (outcome.port, outcome.chip, outcome.mac) == (board.port, chip, MAC.format(1))
        assert outcome.baud == 921600 and board.bauds == [921600]
        assert board.holds(offset, data)
        assert board.erased == 0 and board.holds(0x300000, b"kept")


def test_several_parts_are_written_and_all_is_erased_where_it_is_asked_for() -> None:
    parts = [(0x1000, whole_image("esp32")), (0x200000, bytes(range(256)) * 16)]
    with MockBoard() as board:
        board.flash.data[0x300000:0x300004] = b"gone"
        (outcome,) = flash_boards([FlashJob(board.port, parts, erase=True, bauds=(115200,))])
        assert outcome.verified and outcome.baud == 115200
        assert board.erased == 1 and board.bauds == []
        assert all(board.holds(offset, data) for offset, data in parts)
        assert board.holds(0x300000, b"\xff" * 4)


def test_progress_goes_forward_to_the_end() -> None:
    told: list[Progress] = []
    parts = [(0x1000, whole_image("esp32")), (0x200000, b"file system" * 1000)]
    with MockBoard() as board:
        flash_boards([FlashJob(board.port, parts)], on_progress=lambda port, progress: told.append(progress))
    total = sum(len(data) for _, data in parts)
    written = [one.done for one in told if one.phase == "writing"]
    assert written == sorted(written) and written[-1] == total and len(written) > 3
    assert [one.phase for one in told if one.phase != "writing"] == [
        "waiting", "connecting", "verifying", "done",
    ]  # fmt: skip
    assert all(one.total == total for one in told)


def test_a_real_image_is_flashed_where_its_age_is_allowed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "real.bin"
    file.write_bytes(real_image())
    with plugged("esp32") as (board,):
        code, record, said = called(capsys, "--all", "--image", file)
        assert (code, record) == (1, {}) and "--allow-old" in said and board.opened == 0
        code, record, _ = called(capsys, "--all", "--image", file, "--allow-old")
        assert code == 0 and record["boards"][0]["verified"]
        assert board.holds(0x1000, real_image())


def test_each_board_gets_the_image_for_its_chip(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("dcka.boards.fetch.PINNED", {})
    folder = tmp_path / "dcka" / "firmware"
    folder.mkdir(parents=True)
    for chip in ("esp32s3", "esp32c6"):
        (folder / f"{CHIPS[chip].board}-20260824-v1.29.0.bin").write_bytes(whole_image(chip))
    with plugged("esp32s3", "esp32c6", "esp32s3") as boards:
        code, record, said = called(capsys, "--all")
        assert code == 0 and record["flashed"] == 3
        assert set(record["images"]) == {"esp32s3", "esp32c6"}
        assert said.count("from the cache") == 2
        assert all(board.holds(0, whole_image(board.chip)) for board in boards)


def test_without_a_choice_the_ports_are_listed_and_none_is_opened(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with plugged("esp32", "esp32") as boards:
        code, record, said = called(capsys, "--image", image_file(tmp_path))
        assert (code, record) == (2, {})
        assert all(board.port in said and board.opened == 0 for board in boards)


def test_a_chosen_board_is_flashed_and_the_other_not_opened(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with plugged("esp32", "esp32") as (other, chosen):
        code, record, _ = called(
            capsys, "--port", chosen.port, "--image", image_file(tmp_path), "--baud", "460800"
        )
        assert code == 0 and [row["port"] for row in record["boards"]] == [chosen.port]
        assert chosen.bauds == [460800] and other.opened == 0


def test_a_table_is_shown_to_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with plugged("esp32", "esp32") as boards:
        boards[1].wrong_md5 = True
        assert main(["board", "flash", "--all", "--image", str(image_file(tmp_path))]) == 1
        said = capsys.readouterr()
        rows = [line.split() for line in said.out.splitlines()]
        assert rows[1][:5] == [boards[0].port, "esp32", MAC.format(0), "v1.29.0", "921600"]
        assert rows[1][-1] == "verified" and rows[2][0] == boards[1].port and rows[2][-1] == "failed"
        assert said.out.splitlines()[-1].startswith("1 of 2 boards flashed")
        assert said.err.count("\n") == 1 and boards[1].port in said.err


def test_a_digest_that_does_not_fit_ends_it_before_a_port_is_opened(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with plugged("esp32") as (board,):
        code, record, said = called(capsys, "--all", "--image", image_file(tmp_path), "--sha256", "0" * 64)
        assert (code, record) == (1, {}) and "another file" in said
        assert board.opened == 0


def test_esptool_is_in_no_process_of_ours() -> None:
    code = (
        "import sys; from dcka.boards.flashing import detect; print(detect(sys.argv[1]).mac); "
        "print([name for name in sys.modules if name.startswith('esptool')])"
    )
    with MockBoard() as board:
        answer = subprocess.run(
            [sys.executable, "-c", code, board.port], capture_output=True, text=True, timeout=120, check=True
        )
    assert answer.stdout.split("\n")[:2] == [board.mac, "[]"]
