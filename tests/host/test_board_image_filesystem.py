"""LittleFS from the host: what is written is read back, by us and by a real MicroPython, and the other way round."""

import hashlib
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcka.boards.filesystem import (
    BLOCK_BYTES,
    FilesystemError,
    build_littlefs,
    change_littlefs,
    free_blocks,
    read_littlefs,
)
from dcka.emulation.micropython import available

SIZE = 64 * BLOCK_BYTES
NAMES = st.text("abcXYZ019_-.é", min_size=1, max_size=12).filter(lambda name: name.strip(".") != "")
FILES = st.dictionaries(
    st.lists(NAMES, min_size=1, max_size=3).map("/".join),
    st.binary(max_size=300) | st.integers(0, 9000).map(lambda size: bytes(range(251)) * (size // 251)),
    max_size=6,
)

# The block device of a file: see emulated/start_on_board.py.
ON_BOARD = """
import binascii, hashlib, vfs
class Flash:
    def __init__(self): self.file = open(PATH, 'r+b')
    def readblocks(self, block, buffer, offset=0):
        self.file.seek(block * 4096 + offset); self.file.readinto(buffer)
    def writeblocks(self, block, buffer, offset=0):
        self.file.seek(block * 4096 + offset); self.file.write(buffer)
    def ioctl(self, what, value): return {4: BLOCKS, 5: 4096}.get(what, 0)
filesystem = vfs.VfsLfs2(Flash())
vfs.umount('/')
vfs.mount(filesystem, '/')
"""


def on_board(image, code):
    """What `code` prints in a MicroPython that has mounted the image in this file."""
    names = f"PATH = {str(image)!r}\nBLOCKS = {SIZE // BLOCK_BYTES}\n"
    command = (
        "import sys, micropython_run; sys.exit(micropython_run.run_main(['micropython', '-c', sys.argv[1]]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", command, names + ON_BOARD + code], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def no_folder_is_a_file(files):
    return not any(other.startswith(f"{path}/") for path in files for other in files)


@settings(max_examples=40, deadline=None)
@given(FILES.filter(no_folder_is_a_file))
def test_what_is_built_is_read_back(files):
    image = build_littlefs(files, SIZE)
    assert len(image) == SIZE
    assert read_littlefs(image) == files


@settings(max_examples=20, deadline=None)
@given(FILES.filter(no_folder_is_a_file), st.binary(max_size=5000))
def test_a_change_leaves_the_others_alone(files, content):
    image = change_littlefs(build_littlefs(files, SIZE), {"/new/file": content})
    assert read_littlefs(image) == {**files, "new/file": content}
    assert read_littlefs(change_littlefs(image, {"new/file": None})) == files


def test_the_order_of_the_files_does_not_matter():
    files = {f"f{number}": bytes([number]) * 500 * number for number in range(8)}
    assert build_littlefs(files, SIZE) == build_littlefs(dict(reversed(files.items())), SIZE)


@pytest.mark.skipif(not available(), reason=str(available().reason))
def test_a_real_micropython_mounts_it_and_we_read_what_it_wrote(tmp_path):
    # Around the sizes at which LittleFS stores a file otherwise: in its folder's block, in a block, in several.
    sizes = (0, 1, 126, 127, 128, 129, 1022, 1024, 4095, 4096, 4097, 4088, 8180, 20000)
    files = {
        f"a/file{size}": hashlib.sha256(bytes([size % 256])).digest() * (size // 32 + 1) for size in sizes
    }
    files = {name: content[: int(name[6:])] for name, content in files.items()}
    image = tmp_path / "image"
    image.write_bytes(build_littlefs(files, SIZE))
    told = on_board(
        image,
        "import os\n"
        "for name in os.listdir('/a'):\n"
        "    with open('/a/' + name, 'rb') as file: content = file.read()\n"
        "    print('a/' + name, binascii.hexlify(hashlib.sha256(content).digest()).decode())\n"
        "with open('/theirs', 'wb') as file: file.write(bytes(range(256)) * 20)\n"
        "os.remove('/a/file1')\n",
    )
    seen = dict(line.split() for line in told.splitlines())
    assert seen == {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    del files["a/file1"]
    assert read_littlefs(image.read_bytes()) == {**files, "theirs": bytes(range(256)) * 20}
    changed = change_littlefs(image.read_bytes(), {"ours": b"!"})
    image.write_bytes(changed)
    assert on_board(image, "print(open('/ours').read())") == "!\n"


def test_what_has_no_room_is_refused_with_its_name():
    with pytest.raises(
        FilesystemError, match=r"/big \(300000 bytes\) has no room in the file system of 262144"
    ):
        build_littlefs({"small": b"1", "big": bytes(300_000)}, SIZE)


@pytest.mark.parametrize("path", ["", "/", "a/../b"])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(FilesystemError, match="no path"):
        build_littlefs({path: b""}, SIZE)


def test_a_file_below_a_file_is_refused():
    with pytest.raises(FilesystemError, match="/a/b cannot be written"):
        build_littlefs({"a": b"1", "a/b": b"2"}, SIZE)


@pytest.mark.parametrize("size", [0, BLOCK_BYTES, 10_000])
def test_a_size_that_is_none_is_refused(size):
    with pytest.raises(FilesystemError, match="no number of blocks"):
        build_littlefs({}, size)


@pytest.mark.parametrize("content", [b"\xff" * SIZE, bytes(SIZE), b"rubbish!" * (SIZE // 8)])
def test_what_is_no_file_system_is_told(content):
    for read in (read_littlefs, free_blocks, lambda image: change_littlefs(image, {})):
        with pytest.raises(FilesystemError):
            read(content)


def test_files_take_room_and_give_it_back():
    empty = build_littlefs({}, SIZE)
    full = change_littlefs(empty, {"a": bytes(10 * BLOCK_BYTES)})
    assert free_blocks(empty) - free_blocks(full) >= 10
    assert free_blocks(change_littlefs(full, {"a": None})) == free_blocks(empty)
