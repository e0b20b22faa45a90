"""The MicroPython image for a chip: from the user's cache, or from micropython.org into it.

What is proven of an image, and what is not. micropython.org publishes no checksums. Of every image the checksums that
are built into it are verified (dcka.boards.images), and it is loaded over HTTPS: that rules out a damaged or cut file,
and a stranger on the way, but not a server that gives out another image. For the images in `PINNED` there is more: the
SHA-256 that two or more unrelated public projects each noted from their own download of that file, in August and
September 2026. We did not compute them; that they agree says that all got one and the same file. For the others the
SHA-256 of the first download is kept beside it (trust on first use), so that a later change is noticed. A digest of
one's own goes with `--sha256`, and then counts alone.
"""

import os
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, replace
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from dcka.boards.chips import Chip
from dcka.boards.errors import BoardError, WrongChip
from dcka.boards.images import MAX_BYTES, Image, ImageError, check_digest, parse_image, read_image
from dcka.config.state import write_whole

ADDRESS = "https://micropython.org/resources/firmware"
PAGE = "https://micropython.org/download"
RELEASE = "20260824-v1.29.0"
"""The release that is fetched: the one that our firmware is tested with."""

PINNED: dict[str, str] = {
    "ESP32_GENERIC-20260824-v1.29.0.bin": "e67ad6015a0a504c1fec9aa9bbf589d0432ed28e62546f4f8dd8a147f8bd95f6",
    "ESP32_GENERIC_C3-20260824-v1.29.0.bin": "bf72ed9eb88ad3a8f49d02c3d371f9ea34c90a8a303aeb9e324d8efd4a2a655a",
    "ESP32_GENERIC_S3-20260824-v1.29.0.bin": "1dd9dcd27ba2d6a1cb7f7b49a063f46d3d807d68b0151161233920228285e300",
}
"""SHA-256 by file name; see above for where they are from, and what they prove."""

_TIMEOUT_S = 20.0
_BLOCK_BYTES = 64 * 1024
_BY_HAND = "{file} from {page}/{board}/ into {folder}, or name an image with --image FILE"


class FetchError(BoardError):
    """No image could be had; says how to get one by hand."""


@dataclass(frozen=True)
class Fetched:
    """An image and where it is from: `path` in the cache; `loaded` is whether it came from the network just now.

    `proof`: "given" (the caller's SHA-256), "pinned" (PINNED), "kept" (as at the first download) or "none" (only what
    is built into the image itself).
    """

    image: Image
    path: Path
    loaded: bool
    proof: str


OnBytes = Callable[[int, int], None]


def cache_folder() -> Path:
    """Where images are kept: firmware/ of XDG_CACHE_HOME/dcka, ~/Library/Caches/dcka (macOS) or ~/.cache/dcka."""
    named = os.environ.get("XDG_CACHE_HOME")
    if named and Path(named).is_absolute():
        base = Path(named)
    else:
        base = Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
    return base / "dcka" / "firmware"


def file_name(chip: Chip) -> str:
    """The name of the chip's image, at micropython.org and in the cache."""
    return f"{chip.board}-{RELEASE}.bin"


def fetch_image(
    chip: Chip,
    *,
    sha256: str | None = None,
    folder: Path | None = None,
    address: str = ADDRESS,
    on_bytes: OnBytes | None = None,
) -> Fetched:
    """The image for `chip`, checked; from `folder` (the cache by default), or loaded into it from `address`.

    An image that a person has put into the folder under its name is taken like one that was loaded. `sha256` is what
    the file has to have, instead of what is known of it. `on_bytes` is told (bytes so far, bytes in all or 0).
    Raises FetchError where it cannot be had, with how to get it by hand; ImageError and WrongChip for a wrong file.
    """
    folder = folder or cache_folder()
    path = folder / file_name(chip)
    by_hand = _BY_HAND.format(file=path.name, page=PAGE, board=chip.board, folder=folder)
    loaded = not path.exists()
    image = _load(f"{address}/{path.name}", by_hand, on_bytes) if loaded else read_image(path)
    expected, proof = _expected(path, sha256)
    if image.chip != chip:
        raise WrongChip(
            f"{image.name} is for an {image.chip.title}, and not for an {chip.title}, as its name says"
        )
    if expected is not None:
        _check(image, expected, path, proof, loaded)
    if loaded:
        _keep(path, image)
    return Fetched(replace(image, name=path.name), path, loaded, proof)


def _expected(path: Path, sha256: str | None) -> tuple[str | None, str]:
    """The SHA-256 that the file has to have, or None, and how it is known."""
    if sha256 is not None:
        return sha256, "given"
    if path.name in PINNED:
        return PINNED[path.name], "pinned"
    try:
        kept = _pin_file(path).read_text("ascii").split()
    except (OSError, ValueError):
        kept = []
    return (kept[0], "kept") if kept else (None, "none")


def _check(image: Image, expected: str, path: Path, proof: str, loaded: bool) -> None:
    """As `check_digest`, with what to do about a file in the cache."""
    try:
        check_digest(image, expected)
    except ImageError as error:
        if loaded or proof == "given":
            raise
        raise ImageError(
            f"{error}. Remove {path} to have it loaded anew, or say --sha256 {image.sha256} if it is meant"
        ) from error


def _keep(path: Path, image: Image) -> None:
    """Into the cache, whole or not at all, with its SHA-256 beside it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FetchError(f"the folder {path.parent} cannot be made: {error.strerror}") from error
    write_whole(path, image.data)
    write_whole(_pin_file(path), f"{image.sha256}  {path.name}\n".encode())


def _pin_file(path: Path) -> Path:
    return path.with_name(path.name + ".sha256")


def _load(url: str, by_hand: str, on_bytes: OnBytes | None) -> Image:
    """The image at `url`. Raises FetchError, and ImageError for what is none."""
    request = urllib.request.Request(url, headers={"User-Agent": "dcka"})
    try:
        with urllib.request.build_opener(_SameScheme).open(request, timeout=_TIMEOUT_S) as answer:
            size = answer.length
            data = _read(answer, on_bytes)
    except urllib.error.HTTPError as error:
        error.close()  # it is the answer, too
        raise FetchError(f"{url}: the server says {error.code} {error.reason}; put {by_hand}") from error
    except (OSError, HTTPException) as error:
        reason = getattr(error, "reason", None) or error or type(error).__name__
        raise FetchError(f"{url} cannot be loaded ({reason}); put {by_hand}") from error
    if size is not None and len(data) < size:
        raise FetchError(f"{url}: {len(data)} of {size} bytes came; try again, or put {by_hand}")
    return parse_image(data, url)


def _read(answer: HTTPResponse, on_bytes: OnBytes | None) -> bytes:
    """The body, a little more than MAX_BYTES at most."""
    total = answer.length or 0
    data = bytearray()
    while len(data) <= MAX_BYTES and (block := answer.read(_BLOCK_BYTES)):
        data += block
        if on_bytes is not None:
            on_bytes(len(data), total)
    return bytes(data)


class _SameScheme(urllib.request.HTTPRedirectHandler):
    """Follows no redirection from https to http, and none to anything else."""

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        if urlsplit(newurl).scheme != urlsplit(req.full_url).scheme:
            raise urllib.error.HTTPError(
                req.full_url, code, f"to {newurl}, which is not encrypted", headers, fp
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)
