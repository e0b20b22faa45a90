"""`dcka board image --output`: the first-install image of one node as a file, for another program to flash."""

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from dcka.cli.output import Output
from dcka.errors import UsageError

if TYPE_CHECKING:
    from dcka.boards.chips import Chip
    from dcka.boards.images import Image
    from dcka.boards.versions import Version

_OWNER_ONLY = 0o600


def chip_for(name: str | None, image: Path | None) -> "Chip":
    """The chip that a file is for. Raises UsageError where nobody says it."""
    from dcka.boards.chips import chip_named
    from dcka.boards.images import read_image

    if name is not None:
        return chip_named(name)
    if image is not None:
        return read_image(image).chip
    raise UsageError("--output needs --chip NAME, or --image FILE, which says it")


def require_chip(image: "Image", chip: "Chip") -> None:
    """Raises UsageError for a MicroPython that is for another chip than --chip says."""
    if image.chip != chip:
        raise UsageError(
            f"--output needs an image for the {chip.title} that --chip says, and {image.name} is for an "
            f"{image.chip.title}"
        )


def write_image(file: Path, version: "Version", image: "Image", flash_mb: int, output: Output) -> int:
    """Write MicroPython and the files of `version` to `file`, which its owner alone can read; the exit code.

    Raises UsageError where it cannot be written, BoardError where the files have no room.
    """
    from dcka.boards.first_install import in_one_piece, parts_for

    content = in_one_piece(parts_for(image, version, flash_mb * 1024 * 1024))
    try:
        # Made for its owner alone before there is a password in it.
        file.unlink(missing_ok=True)
        with open(file, "xb", opener=lambda path, flags: os.open(path, flags, _OWNER_ONLY)) as stream:
            stream.write(content)
    except OSError as error:
        raise UsageError(f"--output {file} cannot be written: {error.strerror}") from error
    record = {
        "file": file,
        "chip": image.chip.name,
        "address": image.offset,
        "bytes": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
        "node": version.node,
        "network": version.network,
        "folder": version.folder,
        "micropython": image.version_text,
        "data": version.data is not None,
    }
    output.result(
        record,
        f"{file}: node {version.node} of {version.network} for an {image.chip.title} ({len(content):,} bytes); "
        f"to be written at {image.offset:#x} of the flash",
    )
    return 0
