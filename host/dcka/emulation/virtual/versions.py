"""The versions on a simulated board's flash, which one starts, and the way back from one that does not join.

What `dcka_device.version_files`, `trial.py` and `probation` do on a board; `dcka_core.update` decides what is taken.
"""

import hashlib
import json
from collections.abc import Mapping
from io import BytesIO
from typing import Any

from dcka_core.errors import CoreError
from dcka_core.voice import START, VERSION

FIRST = "0" * 12
BEHAVIOUR_FILE = "behaviour"
SOUND, CRASHES = b"sound", b"crashes"
STARTS = 3
LIMIT_S, STAY_S = 600, 30
_MICROPYTHON = [1, 29, 0]
_FREE_KB = 1500


class BrokenVersion(Exception):
    """The version that was started is one that crashes: it is meant to, and the node has to go back from it."""


class Versions:
    """`present`: the folder whose program runs. `rolled_back`: how often it has gone back. `key`: the node's own.

    The methods up to `settle` are those that `dcka_core.update.Update` asks for.
    """

    def __init__(self, network: str, node: int, key: bytes) -> None:
        self.key = key
        self.present = f"fw-{FIRST}"
        self.trial = False
        self.rolled_back = 0
        self._network = network
        self._node = node
        self._counter = 0
        self._starts_next = self._last = self.present
        self._starts = 0
        self._why: dict[str, str] = {}
        self._files: dict[str, bytes] = {
            f"{self.present}/node.json": json.dumps({"network": network, "node": node}).encode(),
            f"{self.present}/{BEHAVIOUR_FILE}": SOUND,
        }

    # ---- flash ----

    def size(self, path: str) -> int:
        """Its bytes, −1 where there is no such file."""
        return len(self._files[path]) if path in self._files else -1

    def append(self, path: str, piece: bytes, anew: bool) -> None:
        """Add to a file, or begin it."""
        self._files[path] = (b"" if anew else self._files[path]) + piece

    def read(self, path: str) -> BytesIO:
        """The file, open."""
        return BytesIO(self._files[path])

    def digest(self, path: str) -> str:
        """SHA-256 in hex, "" where there is no such file."""
        return hashlib.sha256(self._files[path]).hexdigest() if path in self._files else ""

    def keep(self, path: str) -> None:
        """The one beside it, `path`.new, is the file."""
        self._files[path] = self._files.pop(f"{path}.new")

    def copy(self, path: str, target: str) -> None:
        """Copy to `target`.new."""
        self._files[f"{target}.new"] = self._files[path]

    def remove(self, path: str) -> None:
        """Remove a file, or a folder with all that is in it."""
        for name in [one for one in self._files if one == path or one.startswith(f"{path}/")]:
            del self._files[name]

    def homes(self) -> list[str]:
        """The folders of versions, the present one first."""
        found = dict.fromkeys(path.partition("/")[0] for path in self._files if path.startswith("fw-"))
        return [self.present, *(home for home in found if home != self.present)]

    def room(self, sizes: list[int], home: str) -> str:
        """Why files of these sizes have no room, "" where they have."""
        return "" if sum(sizes) < _FREE_KB * 1024 else "no room"

    def settings(self, path: str) -> dict[str, Any]:
        """The JSON object of a file. Raises CoreError."""
        try:
            found = json.loads(self._files[path])
        except (KeyError, ValueError):
            found = None
        if not isinstance(found, dict):
            raise CoreError(f"config: {path} is no JSON object")
        return found

    def settle(self, home: str, counter: int, settings: Mapping[str, Any]) -> None:
        """`home` starts next, on trial."""
        self._files[f"{home}/node.json"] = json.dumps(settings).encode()
        self._counter, self._last = counter, self.present
        self._starts_next, self.trial, self._starts, self._why = home, True, 0, {}

    # ---- starts ----

    def start(self, after_sleep: bool) -> None:
        """The board's program starts: which one. Raises BrokenVersion where it comes to nothing."""
        if self.trial and not after_sleep:
            if self._starts >= STARTS:
                self.back(f"{self._starts} starts came to nothing")
            else:
                self._starts += 1
        self.present = self._starts_next
        if self._files.get(f"{self.present}/{BEHAVIOUR_FILE}") == CRASHES:
            raise BrokenVersion(self.present)

    def back(self, reason: str) -> None:
        """The last version that joined starts next."""
        self._why = {"version": self._starts_next.removeprefix("fw-"), "reason": reason}
        self._starts_next, self.trial = self._last, False
        self.rolled_back += 1

    def joined(self) -> None:
        """The present version is what starts from now on."""
        self.trial = False
        for home in self.homes():
            if home not in (self.present, self._last):
                self.remove(home)

    # ---- what is said ----

    def facts(self) -> dict[str, Any]:
        """What a manifest is held against."""
        return {
            **self.standing(),
            "network": self._network,
            "node": self._node,
            "firmware": VERSION,
            "micropython": _MICROPYTHON,
            "mpy": 0,
            "free_kb": _FREE_KB,
        }

    def standing(self) -> dict[str, Any]:
        """What runs, since which manifest, and what was gone back from."""
        said: dict[str, Any] = {"folder": self.present, "version": self.present.removeprefix("fw-")}
        said |= {"counter": self._counter, "start": START, "state": "trial" if self.trial else "joined"}
        return said | ({"rolled_back": self._why} if self._why else {})
