"""The versions on a board's flash: what an update writes, and how one of them takes the other's place.

main.py names the folder that starts. All of the new version is on flash before the rename of main.py, which is the
switch; so a power cut leaves the old version or the new one. The new one's first main.py is trial.py: it goes back to
the old by one rename, of main.old, unless the new one joins.
"""

import os
from binascii import hexlify
from hashlib import sha256
from json import dumps, load

from dcka_core.errors import CoreError
from dcka_device.standing import COUNTER_FILE, ROLLED_FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

MAIN, MAIN_OLD = "main.py", "main.old"
# What trial.py leaves beside: how many starts there were.
TRIAL_FILE = "trial.txt"
_CRASH_FILE = "crash.txt"
_MISSING, _THERE = 2, 17
_DIRECTORY = 0x4000
_PIECE = 512


class VersionFiles:
    """The flash as an update sees it: paths are from its root. present: the folder that runs, such as "fw-…".

    alive: called every now and then in what takes long.
    """

    def __init__(self, present: str, alive: "Callable[[], None]") -> None:
        self.present = present
        self._alive = alive
        self._buffer = memoryview(bytearray(_PIECE))

    def size(self, path: str) -> int:
        """Its bytes; −1 where there is no such file."""
        try:
            size: int = os.stat(path)[6]
            return size
        except OSError:
            return -1

    def append(self, path: str, piece: bytes, anew: bool) -> None:
        """Add to the file, or begin it. Raises OSError."""
        if anew:
            self._make_folders(path)
        with open(path, "wb" if anew else "ab") as file:
            file.write(piece)

    def read(self, path: str) -> "Any":
        """The file, open."""
        return open(path, "rb")

    def digest(self, path: str) -> str:
        """SHA-256 in hex; "" where there is no such file."""
        whole = sha256()
        try:
            with open(path, "rb") as file:
                while True:
                    size = file.readinto(self._buffer)
                    if not size:
                        break
                    whole.update(self._buffer[:size])
        except OSError:
            return ""
        self._alive()
        return hexlify(whole.digest()).decode()

    def keep(self, path: str) -> None:
        """The file beside it, `path`.new, is the one."""
        os.rename(path + ".new", path)

    def copy(self, path: str, target: str) -> None:
        """Copy to `target`.new. Raises OSError."""
        self._make_folders(target)
        with open(path, "rb") as file, open(target + ".new", "wb") as made:
            while True:
                size = file.readinto(self._buffer)
                if not size:
                    return
                made.write(self._buffer[:size])

    def remove(self, path: str) -> None:
        """Remove a file, or a folder with all that is in it; nothing where there is none."""
        try:
            folder = os.stat(path)[0] & _DIRECTORY
        except OSError:
            return
        if folder:
            for entry in os.listdir(path):
                self.remove(path + "/" + entry)
            os.rmdir(path)
            self._alive()
        else:
            os.remove(path)

    def homes(self) -> "list[str]":
        """The folders of versions, the present one first."""
        others = [name for name in os.listdir() if is_version(name)]
        return [self.present] + [name for name in others if name != self.present]

    def room(self, sizes: "list[int]", home: str) -> str:
        """Why files of these sizes have no room; older versions make room where it is needed. "" where all is well."""
        why = _no_room(sizes)
        if why:
            self.prune((self.present, home))
            why = _no_room(sizes)
        return why

    def prune(self, kept: "tuple[str, ...]") -> None:
        """Remove all versions but these."""
        for name in self.homes():
            if name not in kept:
                self.remove(name)

    # ---- from one version to another ----

    def settings(self, path: str) -> "dict[str, Any]":
        """The JSON object of a file. Raises CoreError."""
        return settings_of(path)

    def settle(self, home: str, counter: int, settings: "dict[str, Any]") -> None:
        """Make `home`, whose files are all there, what starts next, on trial, with these settings for a node.json.

        counter: the manifest's. Raises OSError and CoreError, with all as it was.
        """
        self._save(home + "/node.json", dumps(settings))
        # From here on this manifest has been seen, whatever becomes of the version.
        self._save(COUNTER_FILE, str(counter))
        with open(MAIN) as file:
            self._save(MAIN_OLD, file.read())
        for name in (TRIAL_FILE, ROLLED_FILE, _CRASH_FILE):
            self.remove(name)
        limits = settings_of(self.present + "/node.json").get("update") or {}
        with open(self.present + "/trial.py") as file:
            text = file.read()
        text = put_in(text, "FIRMWARE", '"/%s"' % home)
        text = put_in(text, "LAST", '"/%s"' % self.present)
        for name, key in (("STARTS", "starts"), ("LIMIT_S", "limit_s")):
            if isinstance(limits.get(key), int):
                text = put_in(text, name, str(limits[key]))
        self._save(MAIN, text)

    def joined(self, last: str) -> None:
        """The present version has joined: main.py starts it without a way back to `last`, which stays on flash."""
        try:
            with open(MAIN_OLD) as file:
                text = file.read()
        except OSError:  # it is done already: the power was cut behind the rename
            return
        self._save(MAIN, put_in(text, "FIRMWARE", '"/%s"' % self.present))
        for name in (MAIN_OLD, TRIAL_FILE, ROLLED_FILE):
            self.remove(name)
        self.prune((self.present, last))

    def _save(self, path: str, text: str) -> None:
        with open(path + ".new", "w") as file:
            file.write(text)
        os.rename(path + ".new", path)

    def _make_folders(self, path: str) -> None:
        parts = path.split("/")[:-1]
        for count in range(1, len(parts) + 1):
            try:
                os.mkdir("/".join(parts[:count]))
            except OSError as error:
                if error.errno != _THERE:
                    raise


def is_version(name: str) -> bool:
    """Whether this is the name of a version's folder."""
    return len(name) == 15 and name.startswith("fw-")


def put_in(text: str, name: str, value: str) -> str:
    """`text` with `value` in its line `name = …`. CoreError where there is not one such line."""
    lines = text.split("\n")
    found = [index for index in range(len(lines)) if lines[index].startswith(name + " = ")]
    if len(found) != 1:
        raise CoreError("cable: %s has no line %s" % (MAIN, name))
    lines[found[0]] = "%s = %s" % (name, value)
    return "\n".join(lines)


def settings_of(path: str) -> "dict[str, Any]":
    """The JSON object that a file holds, node.json say. CoreError where it is none."""
    try:
        with open(path) as file:
            settings = load(file)
    except (OSError, ValueError):
        settings = None
    if not isinstance(settings, dict):
        raise CoreError("config: %s is no JSON object" % path)
    return settings


def _no_room(sizes: "list[int]") -> str:
    block, blocks, free = os.statvfs(".")[1:4]
    if free > blocks:
        # LittleFS counts blocks that files share more than once: on a full flash it is below 0, unsigned.
        free = 0
    # A block a file for what it does not fill, and some for folders, and for what a run writes.
    need = sum([size // (block - 8) + 1 for size in sizes]) + 12
    if need <= free:
        return ""
    return "no room: %d KB needed, %d KB free" % (need * block // 1024, free * block // 1024)
