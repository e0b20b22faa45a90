"""What the host keeps between two calls: the folder `.dcka` beside the network file."""

import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from dcka.errors import DckaError

FOLDER_NAME = ".dcka"


class StateError(DckaError):
    """The state folder cannot be written, or holds what cannot be read; names the file."""


@dataclass(frozen=True)
class State:
    """Paths under `folder`, and its JSON files. Nothing is made before it is written."""

    folder: Path

    @classmethod
    def beside(cls, network_file: Path | None, explicit: Path | None = None) -> "State":
        """The folder that `--state` names, or `.dcka` beside the network file (or in the current folder)."""
        if explicit is not None:
            return cls(explicit)
        return cls((network_file.parent if network_file else Path()) / FOLDER_NAME)

    @property
    def dataset(self) -> Path:
        """dataset.json: what was injected last, and the way back to the user's units."""
        return self.folder / "dataset.json"

    def node_data(self, node: int) -> Path:
        """The copy of the data file that node `node` was sent."""
        return self.folder / "data" / f"{node}.bin"

    def run(self, number: int) -> Path:
        """The record of run `number`."""
        return self.folder / "runs" / f"{number}.json"

    def last_run(self) -> int:
        """The greatest number of a run that has a record here; 0 where there is none."""
        numbers = [
            int(file.stem)
            for file in (self.folder / "runs").glob("*.json")
            if file.stem.isascii() and file.stem.isdigit()
        ]
        return max(numbers, default=0)

    def write(self, file: Path, record: object) -> None:
        """Write JSON to `file` (a path of this folder) in one piece: aside, onto the disk, then renamed.

        Raises StateError where the disk refuses, ValueError for NaN and inf; the old file is then as it was.
        """
        content = (json.dumps(record, allow_nan=False, indent=1) + "\n").encode()
        self.make_folder(file.parent)
        write_whole(file, content)

    def read(self, file: Path) -> object:
        """The JSON of `file`; None where there is no such file. Raises StateError for one that is broken."""
        try:
            return json.loads(file.read_bytes())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StateError(f"{file} cannot be read: {error.strerror}") from error
        except ValueError as error:
            raise StateError(f"{file} is no JSON ({error}); remove it and start again") from error

    def make_folder(self, folder: Path) -> None:
        """Make `folder` (the state folder or one in it), and keep the state folder out of git.

        Raises StateError where the disk refuses.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StateError(f"the folder {folder} cannot be made: {error.strerror}") from error
        ignore = self.folder / ".gitignore"
        if not ignore.exists():
            write_whole(ignore, b"*\n")


def write_whole(file: Path, content: bytes, mode: int = 0o666) -> None:
    """Write `file` so that a reader, or a power cut, finds the old content or the new, never a piece.

    `mode`: of the new file, less the umask; it is so from the first byte on.

    Raises StateError, and leaves nothing aside, where there is no such folder or the disk refuses.
    """
    aside = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    try:
        try:
            with open(aside, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            aside.replace(file)
        except BaseException:
            aside.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise StateError(f"{file} cannot be written: {error.strerror}") from error
