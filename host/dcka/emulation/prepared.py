"""What `prepare` makes of the firmware, kept by content: it takes seconds, and is the same for every architecture."""

import contextlib
import hashlib
import json
import os
import sys
import time
import uuid
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from dcka import firmware_source
from dcka.emulation import prepare as preparing
from dcka.emulation.cache import KEEP_S, user_cache
from dcka.emulation.errors import BuildError
from dcka.emulation.prepare import Prepared, prepare
from dcka.firmware_files import BoardFile


def content_key(files: Sequence[BoardFile], *more: str) -> str:
    """A name that follows from the sources, the code that prepares them, the Python that runs it, and `more`."""
    digest = hashlib.sha256("\0".join([str(sys.version_info[:2]), *more]).encode())
    steps = sorted(Path(firmware_source.__file__).parent.glob("*.py"))
    for module in (*steps, Path(preparing.__file__)):
        digest.update(module.read_bytes())
    for file in files:
        content = file.source.read_bytes()
        digest.update(f"\0{file.path}\0{file.unused}\0{file.idle}\0{file.asked}\0{file.library}\0".encode())
        digest.update(f"{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:32]


def prepared_once(files: Sequence[BoardFile], store: Path | None = None) -> Prepared:
    """`prepare(files)`, made once for each content and kept in the folder `store` (default: in the user's cache).

    Several processes may call it at once. Raises `BuildError`.
    """
    folder = user_cache() / "prepared" if store is None else store
    try:
        kept = folder / f"{content_key(files)}.json"
        found = _load(kept)
        if found is not None:
            return found
        made = prepare(files)
        _keep(kept, made)
        _remove_old(folder)
    except OSError as error:
        raise BuildError(f"cannot prepare the firmware: {error.filename}: {error.strerror}") from error
    return made


def _load(kept: Path) -> Prepared | None:
    try:
        record = json.loads(kept.read_text("utf-8"))
        os.utime(kept)  # it is in use: see _remove_old
    except FileNotFoundError:
        return None
    return Prepared({PurePosixPath(path): text for path, text in record["texts"].items()}, record["names"])


def _keep(kept: Path, made: Prepared) -> None:
    """Write it aside, and rename it: nobody reads half of it."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    aside = kept.with_name(f".{uuid.uuid4().hex}")
    texts = {str(path): text for path, text in made.texts.items()}
    try:
        aside.write_text(json.dumps({"texts": texts, "names": made.names}), "utf-8")
        aside.rename(kept)
    finally:
        aside.unlink(missing_ok=True)


def _remove_old(folder: Path) -> None:
    oldest = time.time() - KEEP_S
    for file in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):  # another process was faster
            if file.stat().st_mtime < oldest:
                file.unlink()
