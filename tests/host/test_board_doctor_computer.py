"""The computer's side of the doctor: USB, drivers, what gets in the way, rights and busy ports."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from dcka.boards.doctor.access import Access, access_to, check_access
from dcka.boards.doctor.computer import Computer, brltty_rule, check_computer, running_programs
from dcka.boards.doctor.examine import examine_computer
from dcka.boards.doctor.verdicts import Check, all_well
from dcka.boards.ports import PortInfo
from dcka.boards.usb import UsbDevice, has_port, is_board, usb_devices

WELL = Computer(False, (UsbDevice(0x10C4, 0xEA60, "CP2102", "1-2"),), frozenset(), None)
PORT = PortInfo("/dev/ttyUSB0", "CP2102", 0x10C4, 0xEA60, "0001", "1-2")


def said(checks: Sequence[Check]) -> dict[str, Check]:
    return {check.name: check for check in checks}


def verdicts(checks: Sequence[Check]) -> dict[str, str]:
    return {check.name: check.verdict for check in checks}


def test_all_well():
    checks = check_computer(WELL, [PORT])
    assert verdicts(checks) == dict.fromkeys(("usb", "driver", "brltty", "modemmanager"), "ok")
    assert all_well(checks)


@pytest.mark.parametrize(
    ("changes", "ports", "words"),
    [
        ({"devices": ()}, [], "many only charge: it needs data lines"),
        ({"devices": None}, [], "many only charge"),
        ({"devices": (), "wsl": True}, [], "usbipd attach --wsl"),
    ],
)
def test_no_board_at_all(changes: dict[str, object], ports: list[PortInfo], words: str):
    check = said(check_computer(replace(WELL, **changes), ports))["usb"]
    assert check.verdict == "wrong" and words in check.todo


def test_a_port_that_is_no_boards_is_named_as_such():
    arduino = PortInfo("/dev/ttyACM0", "Arduino Mega", 0x2341, 0x0042)
    check = said(check_computer(replace(WELL, devices=()), [arduino]))["usb"]
    assert check.verdict == "wrong" and "no board are: /dev/ttyACM0 (Arduino Mega)" in check.says


@pytest.mark.parametrize(
    ("ids", "driver"),
    [
        ((0x10C4, 0xEA60), "cp210x"),
        ((0x1A86, 0x7523), "ch341"),
        ((0x1A86, 0x55D4), "cdc_acm"),
        ((0x0403, 0x6001), "ftdi_sio"),
        ((0x067B, 0x2303), "pl2303"),
        ((0x303A, 0x1001), "cdc_acm"),
    ],
)
def test_a_chip_without_a_port_lacks_its_driver(ids: tuple[int, int], driver: str):
    check = said(check_computer(replace(WELL, devices=(UsbDevice(*ids, "", "3-1"),)), []))["driver"]
    assert check.verdict == "wrong" and f"modprobe {driver};" in check.todo and "3-1" in check.says


def test_brltty_that_took_a_port_is_the_culprit_and_not_the_driver():
    for facts in ({"programs": frozenset({"brltty"})}, {"brltty_rule": Path("/lib/85-brltty.rules")}):
        checks = said(check_computer(replace(WELL, **facts), []))
        assert checks["brltty"].verdict == "wrong" and "sudo apt remove brltty" in checks["brltty"].todo
        assert checks["driver"].todo == "brltty has taken it: see there"


def test_brltty_beside_ports_that_are_there_and_chips_that_it_does_not_take():
    computer = replace(WELL, programs=frozenset({"brltty"}))
    assert said(check_computer(computer, [PORT]))["brltty"].verdict == "note"
    native = replace(computer, devices=(UsbDevice(0x303A, 0x1001, "", "1-2"),))
    checks = said(check_computer(native, []))
    assert checks["brltty"].verdict == "note" and "modprobe cdc_acm" in checks["driver"].todo


def test_modem_manager_and_a_system_that_does_not_tell_are_notes():
    checks = check_computer(replace(WELL, devices=None, programs={"ModemManager"}), [PORT])
    assert verdicts(checks) == {"usb": "ok", "driver": "note", "brltty": "ok", "modemmanager": "note"}
    assert all_well(checks)


def test_what_linux_tells_of_its_usb(tmp_path: Path):
    for name, facts in {
        "1-2": ("10c4", "ea60", "00", "CP2102\n"),
        "usb1": ("1d6b", "0002", "09", "xHCI"),
        "1-2:1.0": None,
        "1-3": ("zz", "0000", "00", ""),
    }.items():
        (tmp_path / name).mkdir()
        if facts:
            for file, text in zip(("idVendor", "idProduct", "bDeviceClass", "product"), facts, strict=True):
                (tmp_path / name / file).write_text(text)
    assert usb_devices(tmp_path) == (UsbDevice(0x10C4, 0xEA60, "CP2102", "1-2"),)
    assert usb_devices(tmp_path / "no") is None


def test_a_device_and_its_port_are_found_together_by_their_place():
    device = UsbDevice(0x0403, 0x6010, "", "1-2.3")
    assert has_port(device, [replace(PORT, location="1-2.3:1.0")])
    assert not has_port(device, [replace(PORT, location="1-2.31"), replace(PORT, location=None)])
    assert is_board(PortInfo("/dev/pts/3")) and is_board(PORT)
    assert not is_board(PortInfo("p", "", 0x2341, 1))


def test_programs_and_rules_are_found(tmp_path: Path):
    (tmp_path / "12").mkdir(), (tmp_path / "13").mkdir(), (tmp_path / "self").mkdir()
    (tmp_path / "12" / "comm").write_text("brltty\n")
    assert running_programs(tmp_path) == {"brltty"}
    rule, off = tmp_path / "85-brltty.rules", tmp_path / "off.rules"
    off.write_text('# ENV{PRODUCT}=="1a86/7523/*", ENV{BRLTTY_BRAILLE_DRIVER}="bm"\n')
    rule.write_text('ENV{PRODUCT}=="1A86/7523/*", ENV{BRLTTY_BRAILLE_DRIVER}="bm"\n')
    assert brltty_rule([tmp_path / "none", off]) is None
    assert brltty_rule([off, rule]) == rule


# ---- the port ----


@pytest.mark.parametrize(
    ("access", "name", "words"),
    [
        (Access(there=False), "port", "ports change their names"),
        (Access(True, is_device=False), "port", "shows those that there are"),
        (Access(True, may_open=False, group="dialout"), "permission", "sudo usermod -aG dialout $USER"),
        (Access(True, may_open=False, group="uucp"), "permission", "sudo usermod -aG uucp $USER"),
        (Access(True, may_open=False, group="dialout", member=True), "permission", "newgrp dialout"),
        (Access(True, may_open=False), "permission", "sudo chmod a+rw /dev/ttyUSB0"),
        (Access(True, holder="minicom (pid 123)"), "busy", "kill 123"),
        (Access(True, holder="another program"), "busy", "close that program"),
    ],
)
def test_what_can_be_wrong_with_a_port(access: Access, name: str, words: str):
    wrong = [check for check in check_access(PORT, access) if check.verdict == "wrong"]
    assert [check.name for check in wrong] == [name]
    assert words in wrong[0].todo
    assert "/dev/ttyUSB0" in wrong[0].says


def test_a_port_that_is_well():
    assert verdicts(check_access(PORT, Access(True))) == {"port": "ok", "permission": "ok", "busy": "ok"}


def test_access_as_this_system_has_it(tmp_path: Path):
    assert access_to(str(tmp_path / "none")) == Access(there=False)
    file = tmp_path / "file"
    file.write_text("")
    assert not access_to(str(file)).is_device
    master, slave = os.openpty()
    try:
        access = access_to(os.ttyname(slave))
        assert access.there and access.is_device and access.may_open and access.holder is None
    finally:
        os.close(master), os.close(slave)


def test_the_computer_and_its_ports_are_told_in_order():
    checks = examine_computer([], [PORT], lambda: WELL, lambda path: Access(True))
    assert [(check.port, check.name) for check in checks][-3:] == [
        ("/dev/ttyUSB0", "port"),
        ("/dev/ttyUSB0", "permission"),
        ("/dev/ttyUSB0", "busy"),
    ]
    assert all_well(checks)
