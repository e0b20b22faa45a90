"""`dcka broker backup` and `restore`: a network's state into one file, and back, whole or not at all."""

import contextlib
import fcntl
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dcka.broker.folder import BrokerFolder
from dcka.config import Config, State, StateError, load
from dcka.errors import UsageError
from dcka.security.archive import BESIDE, BROKER, NETWORK, STATE, Contents, read, write
from dcka.security.nats_files import FOLDER as SERVERS

_SECRET = 0o600
# They say who runs here at the moment, and the state folder's says where.
_NEVER = {"broker.lock", "pid"}
_NEVER_OF_STATE = {"broker.json"}


@dataclass(frozen=True)
class Places:
    """Where a network's state is, or shall be."""

    network: Path
    state: Path
    broker: Path

    def of(self, name: str) -> Path:
        """The place of a part of the backup."""
        return {NETWORK: self.network, STATE: self.state, BROKER: self.broker}[name]


def places_of(config: Config, state: State, folder: BrokerFolder) -> Places:
    """Where the state of a loaded network is."""
    if config.file is None:
        raise UsageError("there is no network file to back up")
    return Places(config.file, state.folder, folder.path)


def backup(config: Config, places: Places, file: Path, force: bool = False) -> Contents:
    """Write the backup, for its owner alone.

    Raises UsageError where `file` is there and not to be overwritten; StateError where something cannot be read or
    written.
    """
    if file.exists() and not force:
        raise UsageError(f"{file} is there already: overwrite it with --force, or name another")
    contents = {name: _read(path) for name, path in [*_files(places), *_beside(config, places)]}
    digests = {name: (len(data), hashlib.sha256(data).hexdigest()) for name, data in contents.items()}
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    made = Contents(config.network.name, created, digests)
    write(file, made, contents)
    return made


def restore(file: Path, places: Places, force: bool = False) -> Contents:
    """Put back all that the backup holds, checked first, written aside, then renamed; what was there before goes.

    Raises BackupError for a damaged file, UsageError where something is there and not to be overwritten or a broker
    runs out of the folder, StateError where the disk refuses; then all is as it was.
    """
    contents, files = read(file)
    there = [target for _, target in _moves(contents, places) if target.exists()]
    if there and not force:
        raise UsageError(
            f"{there[0]} is there already: replace it, and all else that the backup holds, with --force"
        )
    if places.network.parent.exists() and not places.network.parent.is_dir():
        raise UsageError(f"{places.network.parent} is no folder")
    with _nobody_runs(places.broker):
        try:
            _replace(contents, files, places)
        except OSError as error:
            raise StateError(
                f"{error.filename or places.network.parent} cannot be written: {error.strerror}; all is as it was"
            ) from error
    return contents


def _moves(contents: Contents, places: Places) -> list[tuple[str, Path]]:
    """What takes the place of what: a name among those written aside, and the target."""
    parts = [(part, places.of(part)) for part in contents.parts]
    return parts + [(path, places.network.parent / path) for path in contents.beside]


def _replace(contents: Contents, files: dict[str, bytes], places: Places) -> None:
    """Everything aside first; then each part changes places with what was there, and all change back if one cannot."""
    home = places.network.absolute().parent
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".dcka-restore-", dir=home) as name:
        aside, before = Path(name) / "new", Path(name) / "old"
        before.mkdir()
        for path, data in files.items():
            _write(aside / path.removeprefix(f"{BESIDE}/"), data)
        load(aside / NETWORK)  # a network that this version does not take is refused before anything changes
        done: list[tuple[Path, Path]] = []
        try:
            for number, (part, target) in enumerate(_moves(contents, places)):
                target.parent.mkdir(parents=True, exist_ok=True)
                old = before / str(number)
                if target.exists():
                    shutil.move(target, old)
                done.append((old, target))
                shutil.move(aside / part, target)
        except BaseException:
            for old, target in reversed(done):
                _remove(target)
                if old.exists():
                    shutil.move(old, target)
            raise


def _files(places: Places) -> Iterator[tuple[str, Path]]:
    """Each file of the state, by its name in the backup."""
    yield NETWORK, places.network
    for part, never in ((STATE, _NEVER | _NEVER_OF_STATE), (BROKER, _NEVER)):
        base = places.of(part)
        for path in sorted(base.rglob("*")) if base.is_dir() else ():
            relative = path.relative_to(base)
            if part == BROKER and relative.parts[0] == SERVERS:
                continue  # a cluster's are written anew at its next start; what they keep, the nodes and host say again
            at_top = len(relative.parts) == 1
            if path.is_symlink() or not path.is_file() or (at_top and path.name in never):
                continue
            yield f"{part}/{relative.as_posix()}", path


def _beside(config: Config, places: Places) -> Iterator[tuple[str, Path]]:
    """The authority's file that the network file names, where it lies beside it and in no part of its own."""
    ca = config.network.ca
    if ca is None:
        return
    home = places.network.absolute().parent
    path = ca.absolute()
    inside = path.is_relative_to(home) and ".." not in path.relative_to(home).parts
    if inside and not any(path.is_relative_to(part.absolute()) for part in (places.broker, places.state)):
        yield f"{BESIDE}/{path.relative_to(home).as_posix()}", path


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise StateError(f"{path} cannot be read: {error.strerror}") from error


def _write(path: Path, data: bytes) -> None:
    """For its owner alone, whatever it is: certificates in a folder of keys need no other reader."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(path, "xb", opener=lambda name, flags: os.open(name, flags, _SECRET)) as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    if path.name == NETWORK and path.parent.name == "new":
        path.chmod(0o644)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def _nobody_runs(folder: Path) -> Iterator[None]:
    """Raises UsageError while a broker runs out of the folder that is to be replaced."""
    with contextlib.ExitStack() as stack:
        for lock in (folder / "broker.lock", *(folder / SERVERS).glob("*/broker.lock")):
            if not lock.exists():
                continue
            stream = stack.enter_context(lock.open("rb"))
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise UsageError(f"a broker runs out of {folder}: stop it first") from error
        yield
