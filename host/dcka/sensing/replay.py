"""A CSV in the place of the sensors of nodes on this computer."""

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np

from dcka.config.living import SensorsSection
from dcka.config.sections import DataSection
from dcka.errors import UsageError
from dcka.inject.csv_reader import read_csv
from dcka.inject.errors import DataError
from dcka.inject.fixed_point import to_fixed
from dcka.inject.sieve import Missing
from dcka.inject.split import How, split

_LARGEST = 2**31 - 1


def replay_files(
    file: Path, ids: Sequence[int], sensors: SensorsSection, data: DataSection
) -> dict[int, bytes]:
    """By node, the content of its replay file: the rows that are its own, column by column in the sensors' decimals.

    The rows go to the nodes as [data] says. Raises DataError for a file that is not as it has to be, a node without a
    row, and a number beyond 32 bits; UsageError where there is no such file.
    """
    if not file.is_file():
        raise UsageError(f"[sensors] replay: there is no file {file}")
    table = read_csv(
        file,
        columns=[column.name for column in sensors.columns],
        missing=cast(Missing, data.missing),
        missing_marker=data.missing_marker,
        split_by=data.split_by,
    )
    shares = split(table, ids, "column" if data.split_by else cast(How, data.split))
    found = {}
    for node, rows in shares.rows.items():
        if not len(rows):
            raise DataError(f"{file}: no row is for node {node}, which would have nothing to sense")
        own = table.values[rows]
        for place, column in enumerate(sensors.columns):
            highest = np.abs(own[:, place]).max() * 10**column.decimals
            if highest >= _LARGEST:
                raise DataError(
                    f"{file}: column {column.name} goes up to {highest:.3g} units of its last decimal, and a reading "
                    f"to {_LARGEST:,}: take fewer decimals"
                )
        whole = [to_fixed(own[:, place], column.decimals) for place, column in enumerate(sensors.columns)]
        found[node] = np.stack(whole, axis=1).astype("<i4").tobytes()
    return found
