"""The board's side: each check takes what was found on the board, and says what to do."""

import struct
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from dcka.boards.chips import Chip
from dcka.boards.doctor.look import Look
from dcka.boards.doctor.verdicts import Check, note, ok, wrong
from dcka.boards.identify import chip_of_machine, too_old
from dcka.emulation.tracebacks import last_traceback, with_real_names
from dcka.inject.data_file import MAGIC, VERSION, file_bytes

# boot.py's: so many starts in a row that came to nothing, and the program is not started any more.
MAX_FAILED = 5
FULL_BYTES = 16 * 1024
"""Less than this, and files of a few blocks (the boot counter, a commit) may not find room."""
TIGHT_BYTES = 160 * 1024
"""A whole version of the firmware, with the old one still there."""

_LOOPBACK = ("localhost", "127.", "::1", "0.0.0.0")
_DATA_HEAD = struct.Struct("<4sBBHI8s")  # docs/protocol.md, section 6
_MORE = "dcka board provision --port {port}"


@dataclass(frozen=True)
class Expected:
    """What the board is compared with. `network` and `nodes` are network.toml's, None and () where there is none.

    `node`: the id that the registry has for it. `firmware`: the version that this dcka has. `names`: what its build
    has shortened, see `with_real_names`.
    """

    firmware: str
    network: str | None = None
    nodes: Collection[int] = ()
    node: int | None = None
    names: Mapping[str, Mapping[str, str]] | None = None


def check_micropython(look: Look, port: str) -> Check:
    """Is the MicroPython new enough, and has the chip a radio?"""
    chip = chip_of_machine(look.machine)
    version = ".".join(map(str, look.version))
    old = too_old(look.version, chip)
    if old:
        return wrong(
            "micropython", old.partition(";")[0], f"flash a newer one: dcka board flash --port {port}"
        )
    if chip is not None and not chip.wifi:
        return wrong(
            "micropython",
            f"the chip is an {chip.title}, which has no Wi-Fi",
            "it cannot join a network as a node; take another board",
        )
    return ok("micropython", f"MicroPython {version}" + (f" on an {chip.title}" if chip else ""))


def check_file_system(look: Look, port: str) -> Check:
    """Is there a file system, and room in it? It is never formatted here."""
    if look.room is None:
        return wrong(
            "file system",
            "the flash has no file system, or a damaged one",
            f"make a new one, which erases what is there: dcka board flash --erase --port {port}, or at the board's "
            f"prompt: from flashbdev import bdev; import vfs; vfs.VfsLfs2.mkfs(bdev)",
        )
    free, total = look.room
    says = f"{free // 1024:,} of {total // 1024:,} KB are free"
    if free < FULL_BYTES:
        return wrong(
            "file system",
            f"it is full: {says}",
            "remove what is not needed (python -m mpremote connect " + port + " fs ls), or erase all with "
            f"dcka board flash --erase --port {port} and provision again",
        )
    if free < TIGHT_BYTES:
        return note(
            "file system", f"little room: {says}", "a new version of the firmware may not fit beside the old"
        )
    return ok("file system", says)


def check_firmware(look: Look, expected: Expected, port: str) -> Check:
    """Is there firmware of ours, whole and of this version?"""
    again = _MORE.format(port=port)
    if look.folder is None:
        return wrong("firmware", "there is no firmware on the board", again)
    if look.folder == "":
        return wrong(
            "firmware",
            "main.py on the board is another program's",
            f"copy what you need of it (python -m mpremote connect {port} fs cp :main.py old.py), then {again}",
        )
    if not isinstance(look.made, dict):
        return wrong("firmware", f"its version in {look.folder} has no whole version.json", again)
    if look.missing:
        first = ", ".join(look.missing[:3])
        return wrong("firmware", f"{len(look.missing)} of its files are missing ({first})", again)
    if not look.boot_py:
        return wrong("firmware", "boot.py, the way back after a crash, is missing", again)
    version = look.made.get("firmware")
    if version != expected.firmware:
        return note("firmware", f"version {version}, and this dcka has {expected.firmware}", again)
    return ok("firmware", f"version {version}")


def check_config(look: Look, expected: Expected, port: str) -> Check:
    """Is node.json as it has to be, and of this network?"""
    again = _MORE.format(port=port)
    config = look.config
    if not isinstance(config, dict):
        what = "is missing" if config is None else "is no JSON"
        return wrong("node.json", f"node.json {what}", again)
    trouble = _trouble(config, look)
    if trouble:
        return wrong("node.json", trouble, again)
    node, network = config["node"], config["network"]
    says = f"node {node} of {network}, broker {config['broker']['host']}:{config['broker'].get('port', 1883)}"
    if expected.network is not None and network != expected.network:
        return wrong(
            "node.json",
            f"it is node {node} of the network {network}, and network.toml is {expected.network}'s",
            f"go to the folder of {network}, or make it a node of {expected.network}: {again}",
        )
    if expected.nodes and node not in expected.nodes:
        return wrong("node.json", f"it is node {node}, and network.toml has no such node", again)
    if expected.node is not None and expected.node != node:
        return wrong(
            "node.json", f"it is node {node}, and boards.json has node {expected.node} for it", again
        )
    return ok("node.json", says)


def check_stopped(look: Look, port: str) -> Check:
    """Does boot.py start the program?"""
    if look.stopped:
        return wrong(
            "safe mode",
            "there is a file /stop, and so the program is not started",
            f"remove it: python -m mpremote connect {port} fs rm :stop, then press reset",
        )
    if look.failed >= MAX_FAILED:
        return wrong(
            "safe mode",
            f"{look.failed} starts in a row came to nothing, and so the program is not started",
            "see crash; then provision anew, which clears the count: " + _MORE.format(port=port),
        )
    return ok("safe mode", "boot.py starts the program")


def check_crash(look: Look, expected: Expected) -> Check:
    """Has the program ended with an exception? Whether it does again, listening to its next start tells."""
    if not look.crash:
        return ok("crash", "no crash is noted")
    lines = last_traceback(with_real_names(look.crash, expected.names or {}))
    place = next((line.strip() for line in reversed(lines) if line.lstrip().startswith("File ")), "")
    says = lines[-1].strip() + (f", at {place.removeprefix('File ')}" if place else "")
    return note("crash", f"it has crashed: {says}", "nothing, unless network tells that it crashes again")


def check_data(look: Look, port: str) -> Check:
    """Has the node its readings, by the head and the length of its file?"""
    give = f"dcka board inject --port {port} FILE.csv, or dcka inject FILE.csv once it is online"
    if look.data is None:
        return note("data", "it has no readings yet", give)
    head, size = look.data
    if len(head) == _DATA_HEAD.size:
        magic, version, bits, dimensions, points, _dataset = _DATA_HEAD.unpack(head)
        if (magic, version) == (MAGIC, 1):
            return wrong("data", "its data file is of version 1, which this firmware does not read", give)
        if (magic, version) == (MAGIC, VERSION) and size == file_bytes(bits, dimensions, points):
            return ok("data", f"{points:,} points of {dimensions} dimensions")
    return wrong("data", f"its data file of {size:,} bytes is damaged", give)


def check_board(look: Look, expected: Expected, port: str) -> list[Check]:
    """All of it, as far as it can be known."""
    checks = [check_micropython(look, port), check_file_system(look, port)]
    if look.room is None:
        return checks
    checks.append(check_firmware(look, expected, port))
    if look.folder:
        checks += [
            check_config(look, expected, port),
            check_stopped(look, port),
            check_crash(look, expected),
            check_data(look, port),
        ]
    return checks


def no_micropython(chip: Chip, port: str) -> Check:
    """The bootloader answers, and MicroPython does not."""
    return wrong(
        "micropython",
        f"the chip answers (an {chip.title}), and no MicroPython: none is on it, or a program hangs",
        f"flash it: dcka board flash --port {port}; where MicroPython was on it before, first press its reset button "
        f"(EN, RST) and look again",
    )


def nothing_answers(port: str) -> Check:
    """Neither of the two."""
    return wrong(
        "micropython",
        "nothing answers, neither MicroPython nor the chip's bootloader",
        "put it into its bootloader by hand: hold BOOT, press and release EN (or RST), release BOOT, and look again; "
        "where that does not help: another cable, another hub, another board; and is it an ESP32?",
    )


def _trouble(config: Mapping[str, Any], look: Look) -> str:
    """What is wrong with node.json in itself; "" for nothing. As dcka_device/config.py, and what boards need beside."""
    for key, kind in (("network", str), ("node", int), ("broker", dict)):
        if not isinstance(config.get(key), kind):
            return f"node.json has no proper `{key}`"
    host = config["broker"].get("host")
    if not isinstance(host, str) or not host:
        return "node.json names no broker"
    if look.platform != "esp32":
        return ""
    if host.startswith(_LOOPBACK):
        return f"its broker is {host}, which for the board is the board itself: name the computer's address"
    wifi = config.get("wifi")
    if not isinstance(wifi, dict) or not wifi.get("ssid"):
        return "node.json has no Wi-Fi: set [wifi] ssid in network.toml"
    return ""
