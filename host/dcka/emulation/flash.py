"""The flash of a node under CPython: a board's files by their names, in memory or in a folder."""

import io
import os
import shutil
from abc import ABC, abstractmethod
from pathlib import Path

from dcka_core.intake import ASIDE
from dcka_core.points import Points, load
from dcka_core.survey_grid import SurveyGrid
from dcka_core.survey_points import data_file

DATA_FILE = "data.bin"
READINGS_FILE = "readings.bin"
BOOT_FILE = "boots.txt"


class Flash(ABC):
    """Small files; each is replaced at once or not at all. All but `read` raise OSError."""

    @abstractmethod
    def read(self, name: str) -> bytes | None:
        """What the file holds; None where there is none."""

    @abstractmethod
    def save(self, name: str, payload: bytes) -> None:
        """Replace the file's content."""

    @abstractmethod
    def append(self, name: str, payload: bytes, offset: int) -> None:
        """Add to the file; begin it anew where `offset` is 0."""

    @abstractmethod
    def remove(self, name: str) -> None:
        """Remove the file, if it is there."""

    @abstractmethod
    def free_bytes(self) -> int:
        """How much more can be stored."""

    @abstractmethod
    def names(self, folder: str) -> list[str]:
        """The names of the files in a folder; none where there is no such folder."""

    @abstractmethod
    def rename(self, name: str, other: str) -> None:
        """Put the file in the place of another."""

    def begin(self, name: str, total: int) -> None:
        """Make room for a new file of `total` bytes. Raises OSError where there is none."""
        self.remove(name)
        free = self.free_bytes()
        if total > free:
            raise OSError(f"no room: {total // 1024} KB needed, {free // 1024} KB free")

    def drop(self) -> None:
        """Remove data and readings."""
        for name in (DATA_FILE, READINGS_FILE, ASIDE):
            self.remove(name)

    def raise_boot(self) -> int:
        """Count this boot before anything is sent (rule 2 of the protocol), and return the count."""
        text = self.read(BOOT_FILE) or b""
        boots = int(text) + 1 if text.isdigit() else 1
        self.save(BOOT_FILE, str(boots).encode())
        return boots

    def points(self, name: str = DATA_FILE) -> Points | None:
        """The data set; None where there is none. Raises CoreError where it is damaged."""
        content = self.read(name)
        return None if content is None else load(io.BytesIO(content))

    def adopt(self, aside: str, name: str = DATA_FILE) -> Points | None:
        """Put a data file in the place of the old one, which stays where the new one cannot be read.

        Raises OSError and CoreError.
        """
        points = self.points(aside)
        self.rename(aside, name)
        return points

    def readings_dataset(self) -> bytes:
        """The 8 bytes that name the readings; none where there are no readings."""
        return (self.read(READINGS_FILE) or b"")[12:20]

    def make(self, grid: SurveyGrid, readings: Points | None) -> Points:
        """Quantise the readings, read anew where they are None, into the data file, which stays where that fails.

        Raises OSError and CoreError.
        """
        readings = readings or self.points(READINGS_FILE)
        if readings is None:
            raise FileNotFoundError(f"no {READINGS_FILE}")
        content = b"".join(bytes(piece) for piece in data_file(readings, grid))
        self.save(DATA_FILE, content)
        return load(io.BytesIO(content))


class MemoryFlash(Flash):
    """Files that live as long as this object: a node's power cut leaves them. `size`: bytes in all."""

    def __init__(self, size: int = 1 << 31) -> None:
        self._files: dict[str, bytearray] = {}
        self._size = size

    def read(self, name: str) -> bytes | None:
        content = self._files.get(name)
        return None if content is None else bytes(content)

    def save(self, name: str, payload: bytes) -> None:
        self._files[name] = bytearray(payload)

    def append(self, name: str, payload: bytes, offset: int) -> None:
        if not offset:
            self._files[name] = bytearray()
        self._files[name] += payload

    def remove(self, name: str) -> None:
        self._files.pop(name, None)

    def free_bytes(self) -> int:
        return self._size - sum(map(len, self._files.values()))

    def names(self, folder: str) -> list[str]:
        return [name.removeprefix(f"{folder}/") for name in self._files if name.startswith(f"{folder}/")]

    def rename(self, name: str, other: str) -> None:
        if name not in self._files:
            raise FileNotFoundError(f"no {name}")
        self._files[other] = self._files.pop(name)


class FolderFlash(Flash):
    """Files in a folder, which is made with the first of them. It can be a MicroPython node's."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, name: str) -> bytes | None:
        try:
            return (self._folder / name).read_bytes()
        except OSError:
            return None

    def save(self, name: str, payload: bytes) -> None:
        aside = name + ".new"
        self.append(aside, payload, 0)
        self.rename(aside, name)

    def append(self, name: str, payload: bytes, offset: int) -> None:
        (self._folder / name).parent.mkdir(parents=True, exist_ok=True)
        with (self._folder / name).open("ab" if offset else "wb") as file:
            file.write(payload)

    def remove(self, name: str) -> None:
        (self._folder / name).unlink(missing_ok=True)

    def free_bytes(self) -> int:
        there = self._folder
        while not there.exists():
            there = there.parent
        return shutil.disk_usage(there).free

    def names(self, folder: str) -> list[str]:
        there = self._folder / folder
        return os.listdir(there) if there.is_dir() else []

    def rename(self, name: str, other: str) -> None:
        (self._folder / name).replace(self._folder / other)
