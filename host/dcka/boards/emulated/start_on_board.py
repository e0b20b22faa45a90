"""Runs in the interpreter of an emulated board, where a board runs its frozen `_boot.py`: mounts the flash, then runs
`boot.py` and `main.py` in the names of the REPL. For MicroPython's unix port only.
"""

# mypy: ignore-errors

import array
import io
import os
import sys
import time

import vfs

_BLOCK = 4096
# Said when Ctrl-C is for the board's program, and when the REPL comes. The server takes them out of the output.
_READY = "\0ready\0"
_DONE = "\0done\0"

_CORRUPT = """\
The file system (LittleFS, %d blocks from byte %d of the flash) is damaged and can't be mounted.
Erase the flash and write MicroPython again.
"""


class _Flash:
    """The file system's partition of the flash image, as a block device.

    `gate` is a file of two 32-bit counters: how many writes are left until the power is cut, and how many were done.
    Its methods have no branch: MicroPython looks for Ctrl-C at branches, and on a chip nothing interrupts the driver,
    which would leave LittleFS torn in memory.
    """

    def __init__(self, image, gate, offset, blocks):
        self._file = open(image, "r+b")  # noqa: SIM115
        self._gate = open(gate, "r+b")  # noqa: SIM115
        self._counters = array.array("I", (0, 0))
        self._offset = offset
        # What the file system asks of a device: 4 for the count of blocks, 5 for their size. The rest is done by 0.
        self._facts = {4: blocks, 5: _BLOCK}
        self._write = (self._cut, self._write_all)

    def readblocks(self, block, buffer, offset=0):
        self._file.seek(self._offset + block * _BLOCK + offset)
        self._file.readinto(buffer)

    def writeblocks(self, block, buffer, offset=0):
        self._gate.seek(0)
        self._gate.readinto(self._counters)
        self._file.seek(self._offset + block * _BLOCK + offset)
        self._write[self._counters[0] > 0](buffer)

    def ioctl(self, what, _value):
        return self._facts.get(what, 0)

    def _write_all(self, buffer):
        self._file.write(buffer)
        self._counters[0] -= 1
        self._counters[1] += 1
        self._gate.seek(0)
        self._gate.write(self._counters)

    def _cut(self, buffer):
        """The power goes while the flash is being written: half of it is there."""
        self._file.write(memoryview(buffer)[: len(buffer) // 2])
        while True:
            os.system("kill -9 $PPID")


def _blank(flash):
    first = bytearray(64)
    for offset in range(0, _BLOCK, len(first)):
        flash.readblocks(0, first, offset)
        if first.strip(b"\xff"):
            return False
    return True


def _mounted(flash):
    """The file system; a new one on a flash that is blank, None where there is something else."""
    try:
        return vfs.VfsLfs2(flash)
    except OSError:
        pass
    if not _blank(flash):
        return None
    print("Performing initial setup")
    vfs.VfsLfs2.mkfs(flash)
    return vfs.VfsLfs2(flash)


def _mount(flash):
    """Whether there is a file system at "/" now."""
    filesystem = _mounted(flash)
    # The host's own files, reached until here, are no part of a board.
    vfs.umount("/")
    if filesystem is not None:
        vfs.mount(filesystem, "/")
        os.chdir("/")
    return filesystem is not None


def _complain(blocks, offset):
    """What MicroPython does on a flash that it can't mount: say so for ever, until Ctrl-C."""
    try:
        while True:
            print(_CORRUPT % (blocks, offset))
            time.sleep(3)
    except KeyboardInterrupt as error:
        _tell(error)


def _tell(error):
    """The traceback without the line of this file, which a board doesn't have."""
    try:
        text = io.StringIO()
        sys.print_exception(error, text)
        for line in text.getvalue().rstrip().split("\n"):
            if '"start_on_board.py"' not in line:
                print(line)
    except MemoryError:
        sys.print_exception(error)


def _run(name, names):
    """Run a file; whether all went well. One that isn't there is an empty one. SystemExit is a soft reset."""
    try:
        os.stat(name)
    except OSError:
        return True
    names["__file__"] = name
    try:
        execfile(name, names)  # noqa: F821
        return True
    except SystemExit:
        raise
    except BaseException as error:
        _tell(error)
    return False


def boot(names, image, gate, offset, blocks, with_main):
    """Start as a board does. names: the REPL's; with_main: false after a soft reset in raw mode."""
    sys.modules.pop("start_on_board", None)
    sys.path[:] = ["", ".frozen", "/lib"]
    sys.argv[:] = []
    mounted = _mount(_Flash(image, gate, offset, blocks))
    sys.stdout.write(_READY)
    try:
        if not mounted:
            _complain(blocks, offset)
        if _run("boot.py", names) and with_main:
            _run("main.py", names)
    except KeyboardInterrupt:  # between two files
        pass
    except SystemExit:
        # A board starts anew. `-i` would have the REPL come instead: so the interpreter ends as by a hard reset.
        os.system("kill -9 $PPID")
    finally:
        sys.stdout.write(_DONE)
