"""The manifest of an update (protocol, section 9): is it genuine, is it for this node, and which files does it name."""

from json import loads

from dcka_core.errors import CoreError
from dcka_core.signing import DIGEST, Hmac, same

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

# More than three times what the firmware's takes; it has to fit the flash, never the heap.
MOST_BYTES = 32768
_PIECE = 256
PROTOCOL = 1
# Version, sub-version and architecture in `sys.implementation._mpy`.
_MPY_VERSION = 0xFF
_MPY_ALL = 0x3FFF


def is_genuine(open_file: "Callable[[], Any]", size: int, key: bytes) -> bool:
    """Whether the manifest's last 32 bytes are the code of all before, by this node's key."""
    code = Hmac(key)
    left = size - DIGEST
    if left <= 0 or not key:
        return False
    with open_file() as file:
        while left:
            piece = file.read(min(_PIECE, left))
            if not piece:
                return False
            code.update(piece)
            left -= len(piece)
        return same(code.digest(), file.read())


def header(open_file: "Callable[[], Any]") -> "dict[str, Any]":
    """What a genuine manifest says of the version. CoreError where its first line is none."""
    with open_file() as file:
        line = file.readline()
    try:
        said = loads(line)
    except ValueError:
        said = None
    if not isinstance(said, dict) or said.get("v") != 1:
        raise CoreError("manifest")
    for key in ("counter", "node", "mpy", "start", "protocol"):
        if type(said.get(key)) is not int:
            raise CoreError("manifest: %s" % key)
    version = said.get("version")
    if not isinstance(version, str) or len(version) != 12 or not is_hex(version):
        raise CoreError("manifest: version")
    return said


def files(open_file: "Callable[[], Any]", size: int) -> "Iterator[tuple[str, int, str]]":
    """(path, bytes, SHA-256 in hex) of each file, in the order of their numbers. CoreError for what is no such line."""
    left = size - DIGEST
    with open_file() as file:
        left -= len(file.readline())
        while left > 0:
            line = file.readline()
            left -= len(line)
            try:
                path, length, digest = loads(line)
            except (ValueError, TypeError):
                raise CoreError("manifest: a line of a file")
            if not is_path(path) or type(length) is not int or length < 0 or not isinstance(digest, str):
                raise CoreError("manifest: %r" % path)
            yield path, length, digest


def is_path(path: "Any") -> bool:
    """Whether this is a path within the version's folder, and none of those that the node makes itself."""
    if not isinstance(path, str) or not path or "\\" in path or path == "node.json":
        return False
    return all(part and part not in (".", "..") and not part.endswith(".new") for part in path.split("/"))


def is_hex(text: str) -> bool:
    """Whether there are but the digits 0 ... f."""
    return all(digit in "0123456789abcdef" for digit in text)


def why_not(said: "dict[str, Any]", facts: "dict[str, Any]") -> str:
    """Why the node does not take the version: a word for programs, then words for people. "" where it does.

    facts: `node`, `network`, `counter`, `version`, `firmware`, `micropython` (a list), `mpy`, `state`, `start`; and
    `battery_mv` with `least_mv` where it has a battery to look at.
    """
    if said.get("network") != facts["network"] or said["node"] != facts["node"]:
        return "address: this is for node %s of %s" % (said["node"], said.get("network"))
    if said["counter"] <= facts["counter"]:
        return "old: its counter is %d, and the node has seen %d" % (said["counter"], facts["counter"])
    if facts["state"] == "trial":
        return "trial: the present version has not joined yet"
    if said["version"] == facts["version"]:
        return "same: it runs this version"
    if said["start"] != facts["start"] or said["protocol"] != PROTOCOL:
        return "cable: this version needs another main.py or protocol: dcka board provision"
    why = _why_not_here(said, facts)
    if why:
        return why
    if not said.get("rollback") and numbers(said.get("firmware")) < numbers(facts["firmware"]):
        return "downgrade: firmware %s after %s" % (said.get("firmware"), facts["firmware"])
    if facts.get("battery_mv") is not None and facts["battery_mv"] < facts["least_mv"]:
        return "battery: %d mV, and %d are needed" % (facts["battery_mv"], facts["least_mv"])
    return ""


def _why_not_here(said: "dict[str, Any]", facts: "dict[str, Any]") -> str:
    least, most = said.get("micropython") or ((0,), (99,))
    here = list(facts["micropython"])
    if not list(least) <= here <= list(most):
        return "micropython: %s is here, and it is for %s to %s" % (
            _dotted(here),
            _dotted(least),
            _dotted(most),
        )
    # What has no code of the machine runs on every architecture; sources (0) everywhere.
    mask = _MPY_ALL if said["mpy"] >> 10 else _MPY_VERSION
    if said["mpy"] and said["mpy"] & mask != facts["mpy"] & mask:
        return "architecture: .mpy files of %d, and %d is needed here" % (said["mpy"], facts["mpy"])
    return ""


def numbers(version: "Any") -> "list[int]":
    """[0, 1, 0] of "0.1.0"; what is no number counts 0."""
    return [int(part) if part.isdigit() else 0 for part in str(version).split(".")]


def _dotted(parts: "Any") -> str:
    return ".".join([str(part) for part in parts])


# Who the node is, and what it trusts, come over a cable alone.
FIXED = ("v", "network", "node", "update_key")


def merged(old: "dict[str, Any]", new: "dict[str, Any]") -> "dict[str, Any]":
    """node.json of the new version: `new`, with what never travels kept. CoreError where `new` has some of that."""
    made = dict(new)
    for key in FIXED:
        if key in new:
            raise CoreError("config: %s can't be changed by an update" % key)
        if key in old:
            made[key] = old[key]
    for key in new:
        value = new[key]
        if not isinstance(value, dict):
            continue
        if "password" in value:
            raise CoreError("config: %s.password can't be changed by an update" % key)
        before = old.get(key)
        if isinstance(before, dict) and "password" in before:
            made[key] = dict(value)
            made[key]["password"] = before["password"]
    return made
