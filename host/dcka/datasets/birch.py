"""The Birch sets: found in a folder or fetched, and proved to be what they should be.

T. Zhang, R. Ramakrishnan, M. Livny, "BIRCH: A new data clustering algorithm and its applications", 1997, in the integer
version of the University of Eastern Finland (P. Fränti, S. Sieranoja, "K-means properties on six clustering benchmark
datasets", 2018). They are for research, to be cited, and do not come with this program. Rows are put into ascending
order, so that a file's own order of rows, its spaces and its packing make no difference to the checksum or to a run.
"""

import gzip
import hashlib
import os
import re
import sys
import urllib.error
import urllib.request
import zlib
from http.client import HTTPException
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcka.config.state import write_whole
from dcka.inject.errors import DataError

ADDRESS = "https://cs.joensuu.fi/sipu/datasets"
"""Of the data sets' home page."""
ROWS = 100_000
FOLDERS = (Path("data"), Path("../shared/data"))
"""Where they are looked for without a folder of one's own; after these, in the user's cache."""
_TIMEOUT_S = 20.0
_MAX_BYTES = 8 << 20  # the largest has 2.4 MB


class Known(NamedTuple):
    """`sha256`: over the ascending rows as little-endian 64-bit integers. `best`: the least SSE known at K = 100."""

    sha256: str
    best: float


SETS = {
    "birch1": Known("36acc38dbcf092b3a05f8fe2cfc35a827087cf305e51b66b0028ba80c2620953", 9.277280e13),
    "birch2": Known("99075abb2f27f5cd26694b601011be0dccba2438eff885e8bbfbe128bbdc614e", 4.567245e11),
    "birch3": Known("df3054c0f5981e0a05dcef07f4c6aeab8e1e6b0783c75cd437dd62c42747e59f", 3.731095e13),
}
BEST_K = 100


def cache_folder() -> Path:
    """Where a set that was fetched is kept: datasets/ of XDG_CACHE_HOME/dcka, or of the system's folder for caches."""
    named = os.environ.get("XDG_CACHE_HOME")
    if named and Path(named).is_absolute():
        return Path(named) / "dcka" / "datasets"
    return Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "dcka" / "datasets"


def find(name: str, folder: Path | None = None) -> Path:
    """NAME.txt or NAME.txt.gz in `folder`, or in the first of FOLDERS and the cache that has it.

    Raises DataError where there is none, or no such set.
    """
    if name not in SETS:
        raise DataError(f"there is no set {name!r}; the sets are {', '.join(SETS)}")
    places = (*FOLDERS, cache_folder()) if folder is None else (folder,)
    for place in places:
        for file in (place / f"{name}.txt", place / f"{name}.txt.gz"):
            if file.is_file():
                return file
    where = str(folder) if folder is not None else f"{', '.join(map(str, places[:-1]))} or {places[-1]}"
    raise DataError(
        f"{name}.txt is not in {where}: have it fetched with --fetch, or put {ADDRESS}/{name}.txt there, or name its "
        f"folder with --birch DIR"
    )


def load(name: str, folder: Path | None = None) -> NDArray[np.int64]:
    """The set's points (100,000, 2), rows ascending. Raises DataError as `find` does, and for another file."""
    file = find(name, folder)
    try:
        packed = file.read_bytes()
        content = gzip.decompress(packed) if file.suffix == ".gz" else packed
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{file} cannot be read: {error}") from error
    return parse(content, name, str(file))


def parse(content: bytes, name: str, where: str) -> NDArray[np.int64]:
    """The points in a file's content. Raises DataError where they are not those of the set, saying how they differ."""
    lines = [line for line in content.splitlines() if line.strip()]
    if len(lines) != ROWS:
        raise DataError(
            f"{where} has {len(lines):,} rows and {name} has {ROWS:,}; get it anew from {ADDRESS}"
        )
    try:
        table = np.array([[int(word) for word in line.split()] for line in lines], dtype=np.int64)
    except (ValueError, OverflowError):
        raise DataError(f"{where} is not {name}: {_first_fault(content)}") from None
    if table.shape != (ROWS, 2):
        raise DataError(f"{where} is not {name}: it has {table.shape[1]} numbers a row, and not 2")
    table = table[np.lexsort((table[:, 1], table[:, 0]))]
    found = digest(table)
    if found != SETS[name].sha256:
        raise DataError(
            f"{where} is not {name}: the checksum of its rows is {found[:16]}… and not "
            f"{SETS[name].sha256[:16]}…; get it anew from {ADDRESS}"
        )
    return table


def _first_fault(content: bytes) -> str:
    """The first line that is not two whole numbers of at most 18 digits."""
    for number, line in enumerate(content.splitlines(), 1):
        if line.strip() and not re.fullmatch(rb"\s*[+-]?\d{1,18}\s+[+-]?\d{1,18}\s*", line):
            return f"line {number}, {line[:40].decode(errors='replace')!r}, is not two whole numbers"
    return "its rows are not two whole numbers each"


def digest(table: NDArray[np.int64]) -> str:
    """SHA-256 of the rows as they are, little-endian 64-bit integers."""
    return hashlib.sha256(np.ascontiguousarray(table, dtype="<i8").tobytes()).hexdigest()


def fetch(name: str, folder: Path | None = None, address: str = ADDRESS) -> Path:
    """Load the set from its home page into `folder` (or the cache), whole and checked or not at all.

    Raises DataError where the page does not answer, or gives out another file.
    """
    if name not in SETS:
        raise DataError(f"there is no set {name!r}; the sets are {', '.join(SETS)}")
    place = cache_folder() if folder is None else folder
    url = f"{address}/{name}.txt"
    try:
        request = urllib.request.Request(url, headers={"User-Agent": "dcka"})
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:
            content: bytes = answer.read(_MAX_BYTES)
        place.mkdir(parents=True, exist_ok=True)
    except (OSError, HTTPException) as error:
        if isinstance(error, urllib.error.HTTPError):
            error.close()
        reason = getattr(error, "reason", None) or error
        raise DataError(f"{url} cannot be loaded ({reason}); put the file into {place} by hand") from error
    parse(content, name, url)
    write_whole(place / f"{name}.txt", content)
    return place / f"{name}.txt"
