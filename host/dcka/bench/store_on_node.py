"""What keeping readings does to a flash, on MicroPython: a node's own code, on LittleFS, on a chip that counts."""

import os
import sys

import vfs  # type: ignore[import-not-found]

from dcka_core.segments import Segments
from dcka_device.segment_files import SegmentFiles

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BLOCK = 4096
# How MicroPython's esp32 port mounts it.
_SIZES = {"readsize": 32, "progsize": 32, "lookahead": 32}
_BEGIN_S = 200000000
_SEED = 12345


class Chip:
    """A flash chip that counts: `erases` a block, `writes`, and the `bytes` written."""

    def __init__(self, blocks: int) -> None:
        self.content = bytearray(b"\xff" * (BLOCK * blocks))
        self.erases = [0] * blocks
        self.writes = 0
        self.bytes = 0

    def readblocks(self, number: int, buffer: "Any", offset: int = 0) -> None:
        start = number * BLOCK + offset
        buffer[:] = self.content[start : start + len(buffer)]

    def writeblocks(self, number: int, buffer: "Any", offset: int = 0) -> int:
        start = number * BLOCK + offset
        self.content[start : start + len(buffer)] = buffer
        self.writes += 1
        self.bytes += len(buffer)
        return 0

    def ioctl(self, what: int, argument: int) -> int:
        if what == 4:
            return len(self.erases)
        if what == 5:
            return BLOCK
        if what == 6:
            self.erases[argument] += 1
        return 0


def wear(
    blocks: int, other_bytes: int, columns: str, readings: int, every_s: int, sync_every: int, limits: "Any"
) -> "dict[str, Any]":
    """Keep so many readings, beside a file of `other_bytes` that stands for the program; what the chip counted.

    limits: as `SegmentFiles` and `Segments` take them: reserve, segment and most bytes.
    """
    chip = Chip(blocks)
    vfs.VfsLfs2.mkfs(chip, **_SIZES)
    vfs.mount(vfs.VfsLfs2(chip, **_SIZES), "/chip")
    os.chdir("/chip")
    with open("program", "wb") as file:
        for _ in range(other_bytes // BLOCK):
            file.write(bytes(BLOCK))
    reserve, segment_bytes, most_bytes = limits
    segments = Segments(SegmentFiles(reserve), columns, segment_bytes, most_bytes)
    before = (list(chip.erases), chip.writes, chip.bytes)
    values = [2000] * segments.n
    state = _SEED
    for index in range(readings):
        # A slow walk, as weather is: each column moves by up to 5 of its last decimal.
        for place in range(segments.n):
            state = (state * 1103515245 + 12345) & 0x3FFFFFFF
            values[place] += (state >> 16) % 11 - 5
        segments.append(_BEGIN_S + index * every_s, values)
        if segments.pending >= sync_every:
            segments.sync()
    segments.sync()
    erases = [after - earlier for after, earlier in zip(chip.erases, before[0])]
    sizes = [os.stat("segments/" + name)[6] for name in os.listdir("segments")]
    found = {
        "readings": readings,
        "syncs": segments.syncs,
        "erases": sum(erases),
        "hottest": max(erases),
        "writes": chip.writes - before[1],
        "bytes": chip.bytes - before[2],
        "stored": segments.stored,
        "stored_bytes": sum(sizes),
    }
    os.chdir("/")
    vfs.umount("/chip")
    return found


if __name__ == "__main__":
    import json

    for line in sys.stdin:
        print(json.dumps(wear(*json.loads(line))))
