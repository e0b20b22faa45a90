"""The file of a backup: what is in it, and that it is what was put in.

A tar whose first member, `manifest.json`, has size and SHA-256 of every other; these are `network.toml`, `state/…` (the
folder .dcka), `broker/…` and `beside/…`, the authority's file that the network file names. It holds passwords and keys.
"""

import hashlib
import io
import json
import tarfile
import zlib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from dcka import __version__
from dcka.config import write_whole
from dcka.errors import DckaError, UsageError

VERSION = 1
NETWORK, STATE, BROKER, BESIDE = "network.toml", "state", "broker", "beside"
_MANIFEST = "manifest.json"
_MAX_MANIFEST = 16 << 20
_SECRET = 0o600


class BackupError(DckaError):
    """The file is no backup, or a damaged one. Nothing was changed."""


@dataclass(frozen=True)
class Contents:
    """What a backup holds: its manifest's `network`, `created` (UTC) and files by name, with size and SHA-256."""

    network: str
    created: str
    files: dict[str, tuple[int, str]]

    @property
    def parts(self) -> list[str]:
        """Which of network.toml, state and broker it has."""
        return [part for part in (NETWORK, STATE, BROKER) if any(_part(name) == part for name in self.files)]

    @property
    def beside(self) -> list[str]:
        """Files that the network file names, by their paths from its folder."""
        return [name.partition("/")[2] for name in self.files if _part(name) == BESIDE]


def write(file: Path, contents: Contents, files: dict[str, bytes]) -> None:
    """Write the tar, for its owner alone. Raises StateError."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        _add(archive, _MANIFEST, _manifest(contents))
        for name, data in files.items():
            _add(archive, name, data)
    write_whole(file, buffer.getvalue(), _SECRET)


def read(file: Path) -> tuple[Contents, dict[str, bytes]]:
    """What a backup holds, all of it checked against its manifest. Raises BackupError."""
    found: dict[str, bytes] = {}
    try:
        with tarfile.open(file, mode="r:gz") as archive:
            for member in archive:
                if member.name in found or not member.isfile() or not _sound(member.name):
                    raise BackupError(f"{file}: {member.name!r} has no place in a backup of dcka")
                if member.name == _MANIFEST and member.size > _MAX_MANIFEST:
                    raise BackupError(f"{file}: its manifest is too large")
                stream = archive.extractfile(member)
                found[member.name] = b"" if stream is None else stream.read()
    except FileNotFoundError as error:
        raise UsageError(f"there is no file {file}") from error
    except OSError as error:
        raise BackupError(f"{file} cannot be read as a backup: {error.strerror or error}") from error
    except (tarfile.TarError, EOFError, ValueError, zlib.error) as error:
        raise BackupError(f"{file} is no backup of dcka, or a damaged one ({error})") from error
    contents = _contents(file, found.pop(_MANIFEST, None))
    _compare(file, contents, found)
    return contents, found


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(data), _SECRET
    archive.addfile(member, io.BytesIO(data))


def _manifest(contents: Contents) -> bytes:
    files = {name: {"size": size, "sha256": digest} for name, (size, digest) in contents.files.items()}
    said = {"network": contents.network, "created": contents.created, "files": files}
    return json.dumps({"v": VERSION, "dcka": __version__, **said}, indent=1).encode()


def _contents(file: Path, manifest: bytes | None) -> Contents:
    if manifest is None:
        raise BackupError(f"{file} has no manifest: it is no backup of dcka")
    try:
        record = json.loads(manifest)
        if record["v"] != VERSION:
            raise BackupError(f"{file} was written by another version of dcka ({record.get('dcka')})")
        files = {str(name): (int(one["size"]), str(one["sha256"])) for name, one in record["files"].items()}
        return Contents(str(record["network"]), str(record["created"]), files)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BackupError(f"{file}: its manifest is damaged ({error})") from error


def _compare(file: Path, contents: Contents, found: dict[str, bytes]) -> None:
    missing, more = contents.files.keys() - found.keys(), found.keys() - contents.files.keys()
    if missing or more:
        what = f"{min(missing)} is missing" if missing else f"{min(more)} is not in its manifest"
        raise BackupError(f"{file} is damaged: {what}")
    for name, data in found.items():
        if (len(data), hashlib.sha256(data).hexdigest()) != contents.files[name]:
            raise BackupError(f"{file} is damaged: {name} is not what was backed up")
    if NETWORK not in found:
        raise BackupError(f"{file} holds no {NETWORK}")


def _sound(name: str) -> bool:
    """Whether a member's name is one of ours, and leads nowhere else."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or "\0" in name:
        return False
    return name in (_MANIFEST, NETWORK) or (len(path.parts) > 1 and path.parts[0] in (STATE, BROKER, BESIDE))


def _part(name: str) -> str:
    return name.partition("/")[0]
