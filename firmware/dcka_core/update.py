"""Takes a version over the air (protocol, section 9): manifest, files, the word to start it; what runs stays as it is.

What has come lies on flash under its own name as soon as its SHA-256 was right. So after a restart the manifest is
said again, and what is there is not asked for twice. The node asks, the host answers: one piece is on its way at a
time, and what comes twice, late or out of its order is answered with what is wanted.
"""

from dcka_core import manifest
from dcka_core.codec import Reader
from dcka_core.errors import CoreError, MessageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    class Flash(Protocol):
        """Where the versions lie: `dcka_device.version_files`, and what tests have in its place."""

        present: str

        def size(self, path: str) -> int: ...
        def append(self, path: str, piece: bytes, anew: bool) -> None: ...
        def read(self, path: str) -> "Any": ...
        def digest(self, path: str) -> str: ...
        def keep(self, path: str) -> None: ...
        def copy(self, path: str, home: str) -> None: ...
        def remove(self, path: str) -> None: ...
        def homes(self) -> "list[str]": ...
        def room(self, sizes: "list[int]", home: str) -> str: ...
        def settings(self, path: str) -> "dict[str, Any]": ...
        def settle(self, home: str, counter: int, settings: "dict[str, Any]") -> None: ...


# What a message of type 9 is about, in its sixth byte.
ASK, MANIFEST, PIECE, GO_ON, START, FORGET = 0, 1, 2, 3, 4, 5
CONFIG_FILE = "config.json"
_ASIDE = "manifest.new"
_LIMIT = 1 << 31
NO_VERSIONS = "versions: this node has none; it runs the firmware of the dcka that started it"
# Of the wanted: the manifest itself.
_NO_MANIFEST = -1


class Update:
    """One update under way. flash: see `Flash`. facts: () -> what `manifest.why_not` compares. key: the node's own."""

    def __init__(self, flash: "Flash", facts: "Any", key: bytes) -> None:
        self._flash = flash
        self._facts = facts
        self._key = key
        self._forget()

    def _forget(self) -> None:
        self._transfer = -1
        self._home = ""
        self._said: dict[str, Any] = {}
        self._size = 0
        self._want = _NO_MANIFEST
        self._count = 0
        self._entry: tuple[str, int, str] = ("", 0, "")
        self._next = 0
        # What can be copied is looked at once a file.
        self._looked = False

    def take(self, payload: "bytes | memoryview") -> "tuple[dict[str, Any], bool]":
        """(the answer, whether to start the new version now). MessageError where the message is malformed.

        Raises OSError where the flash takes no more; what was written stays for the next attempt.
        """
        reader = Reader(payload)
        reader.byte()
        transfer = reader.integer(4)
        what = reader.byte()
        if what == ASK:
            reader.end()
            answer = self._answer(transfer)
            answer["facts"] = self._facts()
            return answer, False
        if what == MANIFEST:
            return self._on_manifest(reader, transfer, payload), False
        if what == FORGET:
            reader.end()
            self._drop()
            return self._answer(transfer), False
        if what == PIECE:
            number, offset = reader.varint(_LIMIT), reader.varint(_LIMIT)
            piece = bytes(reader.take(len(payload) - reader.position))
            if self._mine(transfer) and (number, offset) == (self._want, self._next) and piece:
                return self._on_piece(transfer, piece), False
        elif what == GO_ON:
            reader.end()
            if self._mine(transfer):
                self._step()
        elif what == START:
            reader.end()
            if self._mine(transfer) and self._want == self._count:
                return self._on_start(transfer)
        else:
            raise MessageError("value")
        return self._answer(transfer), False

    def _mine(self, transfer: int) -> bool:
        return transfer == self._transfer and self._want != _NO_MANIFEST

    def _answer(self, transfer: int, error: str = "") -> "dict[str, Any]":
        mine = transfer == self._transfer
        answer: dict[str, Any] = {
            "v": 1,
            "transfer": transfer,
            "want": self._want if mine else _NO_MANIFEST,
            "next": self._next if mine else 0,
        }
        if mine and self._count:
            answer["files"] = self._count
        if mine and not self._looked and _NO_MANIFEST < self._want < self._count:
            answer["step"] = True
        if error:
            answer["error"] = error
        return answer

    # ---- the manifest ----

    def _on_manifest(
        self, reader: "Reader", transfer: int, payload: "bytes | memoryview"
    ) -> "dict[str, Any]":
        total, offset = reader.varint(_LIMIT), reader.varint(_LIMIT)
        piece = bytes(reader.take(len(payload) - reader.position))
        if not piece or offset + len(piece) > total or total > manifest.MOST_BYTES:
            raise MessageError("value")
        if self._mine(transfer):
            return self._answer(transfer)
        if not offset and not (transfer == self._transfer and self._next):
            self._forget()
            self._transfer = transfer
        if transfer != self._transfer or offset != self._next:
            return self._answer(transfer)
        self._flash.append(_ASIDE, piece, not offset)
        self._next = offset + len(piece)
        if self._next < total:
            return self._answer(transfer)
        error = self._judge(total)
        if error:
            self._flash.remove(_ASIDE)
            self._forget()
        return self._answer(transfer, error)

    def _judge(self, size: int) -> str:
        """Begin with the manifest that has come whole; why not, where the node refuses it."""
        flash = self._flash

        def opened() -> "Any":
            return flash.read(_ASIDE)

        if not self._key:
            return "key: the node has none: dcka board provision"
        if flash.size(_ASIDE) != size or not manifest.is_genuine(opened, size, self._key):
            return "signature: it is not signed with this node's key"
        try:
            said = manifest.header(opened)
            home = "fw-" + said["version"]
            sizes = [
                length
                for path, length, _ in manifest.files(opened, size)
                if flash.size(home + "/" + path) != length
            ]
            count = sum(1 for _ in manifest.files(opened, size))
        except CoreError as error:
            return str(error)
        why = manifest.why_not(said, self._facts()) or flash.room(sizes, home)
        if why:
            return why
        self._home = home
        self._said = said
        self._size = size
        self._count = count
        self._find(0)
        return ""

    # ---- the files ----

    def _find(self, number: int) -> None:
        """Want the first file from `number` on that is not here whole."""
        self._want = 0
        self._next = 0
        self._looked = False
        for entry in manifest.files(lambda: self._flash.read(_ASIDE), self._size):
            if self._want >= number and self._flash.size(self._home + "/" + entry[0]) != entry[1]:
                self._entry = entry
                return
            self._want += 1

    def _step(self) -> None:
        """Copy the wanted file from another version that has the same; one a message, for a board takes its time."""
        if self._looked or self._want >= self._count:
            return
        self._looked = True
        path, length, digest = self._entry
        target = self._home + "/" + path
        for home in self._flash.homes():
            source = home + "/" + path
            if home == self._home or self._flash.size(source) != length:
                continue
            if self._flash.digest(source) == digest:
                self._flash.copy(source, target)
                if self._flash.digest(target + ".new") == digest:
                    self._flash.keep(target)
                    self._find(self._want + 1)
                    return
        # What a cut transfer has left of it goes on where it was, unless it turns out to be another's.
        here = self._flash.size(target + ".new")
        self._next = here if 0 < here < length else 0
        if not length:
            self._flash.append(target + ".new", b"", True)
            self._whole()

    def _on_piece(self, transfer: int, piece: bytes) -> "dict[str, Any]":
        path, length, _ = self._entry
        if self._next + len(piece) > length:
            raise MessageError("value")
        # Who sends a piece knows that there is nothing to copy, or does not care.
        self._looked = True
        self._flash.append(self._home + "/" + path + ".new", piece, not self._next)
        self._next += len(piece)
        if self._next == length and not self._whole():
            return self._answer(transfer, "damaged: " + path)
        return self._answer(transfer)

    def _whole(self) -> bool:
        """The wanted file has come: whether it is the one that the manifest names; else it is wanted again."""
        path, _, digest = self._entry
        target = self._home + "/" + path
        if self._flash.digest(target + ".new") != digest:
            self._flash.remove(target + ".new")
            self._next = 0
            return False
        self._flash.keep(target)
        self._find(self._want + 1)
        return True

    # ---- the switch ----

    def _on_start(self, transfer: int) -> "tuple[dict[str, Any], bool]":
        """Look once more at everything, now as a whole; then put the new version in the place of the old one."""
        flash = self._flash

        def opened() -> "Any":
            return flash.read(_ASIDE)

        # The flash may have changed since; and so may the battery.
        if flash.size(_ASIDE) != self._size or not manifest.is_genuine(opened, self._size, self._key):
            self._forget()
            return self._answer(transfer, "signature: the manifest on flash has changed"), False
        why = manifest.why_not(self._said, self._facts())
        if why:
            return self._answer(transfer, why), False
        for path, _, digest in manifest.files(opened, self._size):
            if flash.digest(self._home + "/" + path) != digest:
                flash.remove(self._home + "/" + path)
                self._find(0)
                return self._answer(transfer, "damaged: " + path), False
        try:
            old, new = [
                flash.settings(path)
                for path in (flash.present + "/node.json", self._home + "/" + CONFIG_FILE)
            ]
            flash.settle(self._home, self._said["counter"], manifest.merged(old, new))
        except CoreError as error:
            return self._answer(transfer, str(error)), False
        answer = self._answer(transfer)
        answer["started"] = True
        return answer, True

    def _drop(self) -> None:
        """Remove what has come of a version that is not to be finished."""
        self._flash.remove(_ASIDE)
        if self._home and self._home != self._flash.present:
            self._flash.remove(self._home)
        self._forget()


def refusal(payload: "bytes | memoryview", error: str) -> "dict[str, Any]":
    """The answer of a node that can't even look at the message."""
    return {
        "v": 1,
        "transfer": int.from_bytes(payload[1:5], "little"),
        "want": _NO_MANIFEST,
        "next": 0,
        "error": error,
    }
