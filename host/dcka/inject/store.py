"""A record and its arrays in a folder, such that a reader finds the old or the new, whole, or is told.

`dataset.json` is the record, with the name and the SHA-256 of the file of arrays. It is renamed into place
last: until then the old record names the old arrays, which stay until the new record is there. Readings that are on
no grid yet have files of their own names, `readings.json` and so on.
"""

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcka.inject.errors import DataError

POINTS, READINGS = "points", "readings"
RECORDS = {POINTS: "dataset.json", READINGS: "readings.json"}
FORMAT = 1


def write(
    folder: Path, record: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], kind: str = POINTS
) -> None:
    """Replace what `folder` holds of a kind. Raises DataError where the folder cannot be written."""
    packed = io.BytesIO()
    np.savez_compressed(packed, allow_pickle=False, **arrays)
    sha256 = hashlib.sha256(packed.getvalue()).hexdigest()
    name = f"{kind}-{sha256[:16]}.npz"
    text = json.dumps({"format": FORMAT, "arrays": name, "sha256": sha256, "record": record}, indent=1)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _replace(folder / name, packed.getvalue())
        _replace(folder / RECORDS[kind], text.encode())
        for old in folder.glob(f"{kind}-*.npz*"):
            if old.name != name:
                old.unlink(missing_ok=True)
    except OSError as error:
        raise DataError(f"the data set cannot be kept in {folder}: {error.strerror or error}") from None


def read(folder: Path, kind: str = POINTS) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What `write` wrote. Raises DataError where nothing is there, or it is damaged."""
    file = RECORDS[kind]
    try:
        outer = json.loads((folder / file).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise DataError(f"no data set in {folder}; make one with dcka inject FILE.csv") from None
    except (ValueError, OSError) as error:
        raise damaged(folder, f"{file}: {error}") from None
    if not isinstance(outer, dict) or outer.get("format") != FORMAT:
        raise damaged(folder, f"{file} is not of format {FORMAT}")
    try:
        name, sha256, record = str(outer["arrays"]), outer["sha256"], dict(outer["record"])
        packed = (folder / Path(name).name).read_bytes()
    except FileNotFoundError:
        raise damaged(folder, f"{name} is missing") from None
    except (KeyError, TypeError, ValueError, OSError) as error:
        raise damaged(folder, f"{file}: {error!r}") from None
    if hashlib.sha256(packed).hexdigest() != sha256:
        raise damaged(folder, f"{name} has another SHA-256 than {file} says")
    try:
        with np.load(io.BytesIO(packed), allow_pickle=False) as arrays:
            return record, dict(arrays)
    except (ValueError, OSError, zipfile.BadZipFile) as error:
        raise damaged(folder, f"{name}: {error}") from None


def damaged(folder: Path, why: str) -> DataError:
    """The error for a folder whose contents do not fit together."""
    return DataError(f"the data set in {folder} is damaged ({why}); make it again with dcka inject FILE.csv")


def _replace(path: Path, data: bytes) -> None:
    aside = path.with_name(path.name + ".aside")
    with aside.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path)
