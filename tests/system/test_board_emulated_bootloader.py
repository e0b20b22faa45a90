"""The emulated board behaves as a board in its bootloader, whose client is esptool."""

import contextlib

import pytest
from emulated_line import RAW, SYNC, TALKER, assert_gone, esptool, line, raw_repl, said

from dcka.boards.emulated import EmulatedBoard, Faults, image
from dcka.emulation.micropython import available

pytestmark = pytest.mark.skipif(not available(), reason=str(available().reason))


@pytest.mark.parametrize("chip", image.CHIPS)
def test_esptool_flashes_a_blank_board_and_micropython_starts(tmp_path, chip):
    firmware = image.micropython_image(chip)
    (tmp_path / "firmware.bin").write_bytes(firmware)
    offset = image.bootloader_offset(chip)
    mac = "24:0a:c4:0a:0b:0c"
    with EmulatedBoard(tmp_path / "board", chip=chip, mac=mac, micropython=False) as board:
        done = esptool(board, "write-flash", hex(offset), str(tmp_path / "firmware.bin"))
        assert done.returncode == 0, done.stdout + done.stderr
        assert "Hash of data verified" in done.stdout
        assert mac in done.stdout
        with raw_repl(board) as repl:
            assert repl.exec("import sys; print(sys.implementation.name)") == b"micropython\r\n"
        assert board.flash()[offset : offset + len(firmware)] == firmware


def test_esptool_interrupts_a_running_program_and_the_board_starts_again(tmp_path):
    with EmulatedBoard(tmp_path, extra_files={"main.py": TALKER}) as board:
        done = esptool(board, "flash-id")
        assert done.returncode == 0, done.stdout + done.stderr
        assert "4MB" in done.stdout
        with line(board) as opened:
            said(opened, b"telemetry")


def test_an_image_without_micropython_does_not_answer(tmp_path):
    firmware = image.micropython_image("esp32").replace(b"MicroPython v", b"Another OS v ")
    (tmp_path / "firmware.bin").write_bytes(firmware)
    with EmulatedBoard(tmp_path / "board", micropython=False) as board:
        assert esptool(board, "write-flash", "0x1000", str(tmp_path / "firmware.bin")).returncode == 0
        with line(board) as opened:
            opened.timeout = 0.3
            opened.write(b"\r\x03\r\x01")
            assert RAW not in opened.read(1000)


def test_the_file_system_is_where_the_image_has_it_whatever_the_flash(tmp_path):
    with EmulatedBoard(tmp_path, flash_bytes=8 * 1024 * 1024, extra_files={"a": b"1"}) as board:
        with raw_repl(board) as repl:
            assert repl.exec("import os; print(os.statvfs('/')[2] * 4096)") == b"2097152\r\n"
        board.power_off()
        assert board.files() == {"a": b"1"}


def test_a_damaged_program_does_not_start(tmp_path):
    with EmulatedBoard(tmp_path, on=False) as board:
        with (tmp_path / "flash.bin").open("r+b") as file:
            file.seek(0x12345)
            file.write(b"?")
        board.power_on()
        with line(board) as opened:
            opened.timeout = 0.3
            opened.write(b"\r\x03\r\x01")
            assert opened.read(1000) == b""


def test_a_byte_that_is_stored_wrongly_is_found(tmp_path):
    (tmp_path / "firmware.bin").write_bytes(image.micropython_image("esp32"))
    with EmulatedBoard(tmp_path / "board", faults=Faults(flip_flashed_byte=0x12345)) as board:
        done = esptool(board, "write-flash", "0x1000", str(tmp_path / "firmware.bin"))
        assert done.returncode != 0
        assert "MD5" in done.stdout + done.stderr


def test_a_board_that_goes_while_it_is_flashed(tmp_path):
    with EmulatedBoard(tmp_path, faults=Faults(unplug_after_flashed=4000)) as board, line(board) as opened:
        opened.write(SYNC)
        opened.read_until(b"\xc0")
        opened.write(b"\xc0" + bytes(3000))
        opened.reset_input_buffer()
        opened.write(SYNC)
        said(opened, b"\xc0")
        with contextlib.suppress(OSError):
            opened.write(bytes(2000))
        assert_gone(opened)


def test_a_held_boot_button_keeps_it_in_the_bootloader(tmp_path):
    with EmulatedBoard(tmp_path, faults=Faults(hold_boot_button=True)) as board:
        with line(board) as opened:
            opened.timeout = 0.3
            opened.write(b"\r\x03\r\x01")
            assert RAW not in opened.read(1000)
        assert esptool(board, "chip-id").returncode == 0
        board.set_faults(hold_boot_button=False)
        assert esptool(board, "chip-id").returncode == 0
        with raw_repl(board) as repl:
            assert repl.exec("print(1)") == b"1\r\n"
