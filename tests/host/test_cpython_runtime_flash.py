"""A node's flash under CPython: in memory or in a folder, the same; and the folder is a board's."""

from collections.abc import Callable
from pathlib import Path

import data_files
import pytest

from dcka.emulation.flash import Flash, FolderFlash, MemoryFlash
from dcka_core.errors import CoreError


def data_file(points: list[int]) -> bytes:
    made: bytes = data_files.data_file(points, 1)
    return made


@pytest.fixture(params=["memory", "folder"])
def flash(request: pytest.FixtureRequest, tmp_path: Path) -> Flash:
    return MemoryFlash() if request.param == "memory" else FolderFlash(tmp_path / "nodes" / "7")


def test_what_is_saved_is_read_and_what_is_not_there_is_none(flash: Flash) -> None:
    assert flash.read("run.json") is None
    flash.save("run.json", b"{}")
    flash.save("run.json", b'{"run":2}')
    assert flash.read("run.json") == b'{"run":2}'
    assert flash.read("commit.bin") is None


def test_boots_are_counted_and_a_foreign_count_begins_anew(flash: Flash) -> None:
    assert [flash.raise_boot() for _ in range(3)] == [1, 2, 3]
    assert flash.read("boots.txt") == b"3"
    flash.save("boots.txt", b"many")
    assert flash.raise_boot() == 1


def test_data_comes_in_pieces_and_is_adopted_whole(flash: Flash) -> None:
    assert flash.points() is None
    first, second = data_file([1, 2, 3]), data_file([4, 5])
    for offset in range(0, len(first), 20):
        flash.append("data.new", first[offset : offset + 20], offset)
    adopted = flash.adopt("data.new")
    assert adopted is not None and adopted.count == 3
    assert flash.read("data.new") is None
    flash.append("data.new", b"rubbish from a transfer that was given up", 0)
    flash.append("data.new", second, 0)
    flash.adopt("data.new")
    assert flash.read("data.bin") == second
    points = flash.points()
    assert points is not None and list(points.blocks[0][0]) == [4, 5]


@pytest.mark.parametrize(
    "spoil", [lambda data: data[:-1], lambda data: data[:30] + b"x" + data[31:], lambda _: b""]
)
def test_data_that_cannot_be_read_leaves_the_old(flash: Flash, spoil: Callable[[bytes], bytes]) -> None:
    flash.append("data.new", data_file([1]), 0)
    flash.adopt("data.new")
    flash.append("data.new", spoil(data_file([2, 3])), 0)
    with pytest.raises(CoreError):
        flash.adopt("data.new")
    assert flash.read("data.bin") == data_file([1])


def test_a_file_that_is_not_there_cannot_be_adopted(flash: Flash) -> None:
    with pytest.raises(OSError):
        flash.adopt("data.new")


def test_the_folder_has_the_files_of_a_board_and_nothing_aside(tmp_path: Path) -> None:
    flash = FolderFlash(tmp_path / "7")
    flash.raise_boot()
    flash.save("commit.bin", b"\x12")
    flash.append("data.new", data_file([1]), 0)
    flash.adopt("data.new")
    assert sorted(file.name for file in (tmp_path / "7").iterdir()) == ["boots.txt", "commit.bin", "data.bin"]


def test_a_disk_that_refuses_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError):
        FolderFlash(tmp_path / "file").raise_boot()


def test_a_file_without_room_is_refused_before_anything_is_written() -> None:
    flash = MemoryFlash(size=200)
    flash.begin("data.new", 150)
    flash.append("data.new", bytes(150), 0)
    flash.begin("data.new", 180)
    assert flash.read("data.new") is None
    flash.save("data.bin", bytes(100))
    with pytest.raises(OSError, match="no room: 0 KB needed, 0 KB free"):
        flash.begin("data.new", 150)
    flash.drop()
    flash.begin("data.new", 150)


def test_a_folder_has_the_room_of_its_disk(tmp_path: Path) -> None:
    flash = FolderFlash(tmp_path / "not" / "there")
    assert flash.free_bytes() > 0
    with pytest.raises(OSError, match="no room"):
        flash.begin("data.new", 1 << 60)
