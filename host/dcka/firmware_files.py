"""Where the firmware is on this machine, and which files a board gets."""

import importlib.util
import runpy
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from dcka.errors import DckaError

MANIFEST = "manifest.py"


class FirmwareFilesError(DckaError):
    """The firmware is not where it should be, or its manifest names what is not there."""


@dataclass(frozen=True)
class BoardFile:
    """One file of a board: its path there, and where it is read here.

    `unused`: its functions ("name" or "Class.name") that no node calls. `idle`: those that have nothing to do there.
    `asked`: whether a node imports it by its name, as a text. `library`: it is of a package that others wrote.
    """

    path: PurePosixPath
    source: Path
    unused: tuple[str, ...] = ()
    idle: tuple[str, ...] = ()
    asked: bool = False
    library: bool = False


def firmware_folder() -> Path:
    """`firmware/`: package data in an installed dcka, the checkout's folder otherwise.

    Raises `FirmwareFilesError` where there is neither.
    """
    package = Path(__file__).parent
    for folder in (package / "_firmware", package.parents[1] / "firmware"):
        if (folder / MANIFEST).is_file():
            return folder
    raise FirmwareFilesError(f"the firmware is not beside {package}: install dcka again")


SLEEPING = "sleeping"
WAKE_FOLDER = "wake/"
"""Copies of files, which are no part of the program: what is compiled of them keeps all names."""


def part_names(firmware: Path | None = None) -> tuple[str, ...]:
    """The names of `PARTS` in the manifest. Raises `FirmwareFilesError`."""
    manifest = (firmware if firmware is not None else firmware_folder()) / MANIFEST
    return tuple(_by_path(runpy.run_path(str(manifest)), "PARTS", manifest))


def board_files(firmware: Path | None = None, parts: Collection[str] = ()) -> tuple[BoardFile, ...]:
    """What a board gets, as sources, by its manifest: `FILES` of this folder, those that `PARTS` has for each of
    `parts`, and `LIBRARIES` installed here.

    `UNUSED` and `IDLE` (path → names), where the manifest has them, say what can be left out when they are compiled,
    and `ASKED` which files have to stay files of their own.
    Raises `FirmwareFilesError` for a manifest without `FILES` or `LIBRARIES`, a part that it does not have, a path that
    leaves the folder, comes twice or is not there, a library that is not installed, and `UNUSED`, `IDLE` or `ASKED` for
    a path that no board gets.
    """
    folder = firmware if firmware is not None else firmware_folder()
    manifest = folder / MANIFEST
    names = runpy.run_path(str(manifest))
    unused = _by_path(names, "UNUSED", manifest)
    idle = _by_path(names, "IDLE", manifest)
    asked = set(_texts({"ASKED": (), **names}, "ASKED", manifest))
    more = _by_path(names, "PARTS", manifest)
    for part in sorted(set(parts) - set(more)):
        raise FirmwareFilesError(f"{manifest} has no part {part!r}; its parts are {', '.join(more)}")
    names["FILES"] = (
        *_texts(names, "FILES", manifest),
        *(path for part in more if part in parts for path in more[part]),
        *_wake_files(names, more, parts, manifest),
    )
    found: dict[PurePosixPath, BoardFile] = {}
    for key, locate in (
        ("FILES", lambda text: folder / text.removeprefix(WAKE_FOLDER)),
        ("LIBRARIES", _library_file),
    ):
        for text in _texts(names, key, manifest):
            file = BoardFile(
                PurePosixPath(text),
                locate(text),
                unused.pop(text, ()),
                idle.pop(text, ()),
                text in asked,
                key == "LIBRARIES",
            )
            asked.discard(text)
            if file.path.is_absolute() or ".." in file.path.parts or not file.path.parts:
                raise FirmwareFilesError(f"{manifest}: {key} has {text!r}, which is no path within a board")
            if file.path in found:
                raise FirmwareFilesError(f"{manifest} has {text} twice")
            if not file.source.is_file():
                raise FirmwareFilesError(f"{manifest}: {key} has {text}, but there is no {file.source}")
            found[file.path] = file
    for key, left in (("UNUSED", unused), ("IDLE", idle), ("ASKED", asked)):
        if left:
            raise FirmwareFilesError(f"{manifest}: {key} has {min(left)}, which no board gets")
    return tuple(found.values())


def _wake_files(
    names: dict[str, object], more: dict[str, tuple[str, ...]], parts: Collection[str], manifest: Path
) -> tuple[str, ...]:
    """What starts without the program, where nodes sleep deeply; see WAKE in the manifest."""
    if SLEEPING not in parts:
        return ()
    sensing = [path for part in more if part in parts and part.startswith("sens") for path in more[part]]
    return tuple(WAKE_FOLDER + path for path in (*_texts(names, "WAKE", manifest), *sensing))


def _texts(names: dict[str, object], key: str, manifest: Path) -> tuple[str, ...]:
    value = names.get(key)
    if not isinstance(value, (tuple, list)) or not all(isinstance(text, str) for text in value):
        raise FirmwareFilesError(f"{manifest}: {key} must be a tuple of texts")
    return tuple(value)


def _by_path(names: dict[str, object], key: str, manifest: Path) -> dict[str, tuple[str, ...]]:
    value = names.get(key, {})
    if not isinstance(value, dict) or not all(isinstance(path, str) for path in value):
        raise FirmwareFilesError(f"{manifest}: {key} must be a dict: path → a tuple of names")
    return {path: _texts(value, path, manifest) for path in value}


def _library_file(text: str) -> Path:
    """The installed file of a path such as `chumicro_mqtt/client.py`; nothing is imported."""
    package, *rest = PurePosixPath(text).parts
    spec = importlib.util.find_spec(package) if package.isidentifier() else None
    if spec is None or not spec.submodule_search_locations:
        raise FirmwareFilesError(
            f"the library {package}, which every board gets, is not installed: install dcka again"
        )
    return Path(spec.submodule_search_locations[0]).joinpath(*rest)
