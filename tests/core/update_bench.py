"""A flash in memory and a host's side of an update, for the tests of `dcka_core.update`. On every interpreter."""

from hashlib import sha256
from io import BytesIO
from json import dumps, loads

from dcka_core.codec import put_varint
from dcka_core.errors import CoreError
from dcka_core.signing import Hmac
from dcka_core.update import GO_ON, MANIFEST, PIECE, START, Update

KEY = bytes(range(32))
PRESENT = "fw-0123456789ab"
VERSION = "a1b2c3d4e5f6"
HOME = "fw-" + VERSION
CONFIG = dumps({"broker": {"host": "new"}, "keepalive": 20}).encode()
# One that the node has, one that is new, one that is empty, the settings.
FILES = [
    ("config.json", CONFIG),
    ("part/empty.py", b""),
    ("part/new.py", bytes(range(256)) * 5),
    ("part/same.py", b"# in both\n" * 60),
]


def hexed(content):
    return "".join("%02x" % byte for byte in sha256(content).digest())


def manifest_of(files=FILES, key=KEY, **changes):
    header = {
        "v": 1,
        "network": "t",
        "node": 1,
        "counter": 5,
        "version": VERSION,
        "firmware": "0.1.0",
        "micropython": [[1, 23], [1, 999, 999]],
        "mpy": 6 | 3 << 8 | 10 << 10,
        "protocol": 1,
        "start": 1,
    }
    header.update(changes)
    lines = [header] + [[path, len(content), hexed(content)] for path, content in files]
    body = "".join(dumps(line) + "\n" for line in lines).encode()
    code = Hmac(key)
    code.update(body)
    return body + code.digest()


class Cut(Exception):
    """The power is gone."""


class MemoryFlash:
    """What `dcka_device.version_files` is on a board. `left`: writes until the power is cut, None for never."""

    present = PRESENT

    def __init__(self):
        self.files = {PRESENT + "/part/same.py": FILES[3][1]}
        self.files[PRESENT + "/node.json"] = dumps(
            {"network": "t", "node": 1, "update_key": "00", "broker": {"host": "old", "password": "secret"}}
        ).encode()
        self.left = None
        self.full = ""
        self.settled = None

    def _write(self):
        if self.left is not None:
            if not self.left:
                raise Cut
            self.left -= 1

    def size(self, path):
        return len(self.files[path]) if path in self.files else -1

    def append(self, path, piece, anew):
        self._write()
        self.files[path] = (b"" if anew else self.files[path]) + piece

    def read(self, path):
        return BytesIO(self.files[path])

    def digest(self, path):
        return hexed(self.files[path]) if path in self.files else ""

    def keep(self, path):
        self._write()
        self.files[path] = self.files.pop(path + ".new")

    def copy(self, path, target):
        self._write()
        self.files[target + ".new"] = self.files[path]

    def remove(self, path):
        self._write()
        for name in list(self.files):
            if name == path or name.startswith(path + "/"):
                del self.files[name]

    def homes(self):
        return [PRESENT]

    def room(self, sizes, home):
        return self.full

    def settings(self, path):
        found = loads(self.files[path])
        if not isinstance(found, dict):
            raise CoreError("config: %s" % path)
        return found

    def settle(self, home, counter, settings):
        self._write()
        self.settled = (home, counter, settings)


def facts(**changes):
    said = {
        "network": "t",
        "node": 1,
        "counter": 4,
        "version": "0123456789ab",
        "firmware": "0.1.0",
        "micropython": [1, 29, 0],
        "mpy": 6 | 3 << 8 | 10 << 10,
        "state": "joined",
        "start": 1,
    }
    said.update(changes)
    return said


def message(what, *numbers, rest=b"", transfer=7):
    out = bytearray([0x19]) + transfer.to_bytes(4, "little")
    out.append(what)
    for number in numbers:
        put_varint(out, number)
    return bytes(out) + rest


class Host:
    """Answers what the node wants, as `dcka update` does; `size`: bytes of a piece."""

    def __init__(self, manifest=None, files=FILES, size=200, transfer=7):
        self.manifest = manifest_of() if manifest is None else manifest
        self.contents = [content for _, content in files]
        self.size = size
        self.transfer = transfer
        self.pieces = 0

    def first(self):
        return self.manifest_piece(0)

    def manifest_piece(self, offset):
        piece = self.manifest[offset : offset + self.size]
        return message(MANIFEST, len(self.manifest), offset, rest=piece, transfer=self.transfer)

    def reply(self, answer):
        """The message that follows an answer."""
        want, offset = answer["want"], answer["next"]
        if want < 0:
            return self.manifest_piece(offset)
        if want == answer["files"]:
            return message(START, transfer=self.transfer)
        if answer.get("step"):
            return message(GO_ON, transfer=self.transfer)
        self.pieces += 1
        piece = self.contents[want][offset : offset + self.size]
        return message(PIECE, want, offset, rest=piece, transfer=self.transfer)


def updated(flash, host, said=None, most=200):
    """Let the two speak until the new version is to start, or the node refuses: the last answer."""
    update = Update(flash, lambda: said or facts(), KEY)
    sent = host.first()
    for _ in range(most):
        answer, start = update.take(sent)
        if start or ("error" in answer and not answer["error"].startswith("damaged")):
            return answer
        sent = host.reply(answer)
    raise AssertionError("it comes to no end: %r" % answer)
