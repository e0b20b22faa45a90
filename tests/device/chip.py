"""A flash chip with LittleFS whose power can fail at any write. On MicroPython; CPython has no LittleFS."""

import os

from support import skip

try:
    import vfs
except ImportError:
    vfs = None

BLOCK = 4096


class Chip:
    """A flash chip; `left`: writes and erases until the power fails, None for ever."""

    def __init__(self, blocks):
        self.content = bytearray(b"\xff" * (BLOCK * blocks))
        self.left = None
        self.writes = 0
        self.piece = 32

    def readblocks(self, number, buffer, offset=0):
        start = number * BLOCK + offset
        buffer[:] = self.content[start : start + len(buffer)]

    def writeblocks(self, number, buffer, offset=0):
        if not self.powered():
            return -5
        start = number * BLOCK + offset
        self.content[start : start + len(buffer)] = buffer
        return 0

    def ioctl(self, what, argument):
        if what == 4:
            return len(self.content) // BLOCK
        if what == 5:
            return BLOCK
        if what == 6:
            if not self.powered():
                return -5
            self.content[argument * BLOCK : (argument + 1) * BLOCK] = b"\xff" * BLOCK
        return 0

    def powered(self):
        if self.left == 0:
            return False
        self.writes += 1
        if self.left is not None:
            self.left -= 1
        return True


def blank(blocks, piece=32):
    """A chip with an empty file system. piece: bytes of a write; 32 as on an ESP32."""
    if vfs is None:
        skip("CPython has no LittleFS")
    chip = Chip(blocks)
    chip.piece = piece
    vfs.VfsLfs2.mkfs(chip, readsize=piece, progsize=piece, lookahead=32)
    return chip


def mount(chip):
    """Whatever was mounted has lost its power; this chip is the current folder now."""
    os.chdir("/")
    try:
        vfs.umount("/chip")
    except OSError:
        pass
    vfs.mount(vfs.VfsLfs2(chip, readsize=chip.piece, progsize=chip.piece, lookahead=32), "/chip")
    os.chdir("/chip")


def away():
    """No chip is there any more."""
    os.chdir("/")
    vfs.umount("/chip")
