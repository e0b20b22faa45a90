"""Readings as the nodes get them where they agree on the range by themselves: whole numbers, on no grid yet."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dcka.inject import data_file, store
from dcka.inject.errors import DataError, shown
from dcka.inject.fixed_point import decimals_for, exact_value, is_exact, to_fixed
from dcka.inject.gathered import Gathered, keep, kept_nodes, kept_parts
from dcka.inject.number_text import LARGEST
from dcka.inject.quantise import bits_for, constant_columns

VERSION = 1
LARGEST_NUMBER = 2.0**31 - 1
ROOM = 10_000.0  # with the scale "std" a width is rounded up to a whole number: by less than this part of the range

Numbers = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class ReadingSet(Gathered):
    """Made by `as_readings`. `numbers[id]`: m×n whole numbers of 10^−`decimals`, of all columns alike."""

    numbers: dict[int, Numbers]
    decimals: int

    file_name: ClassVar[str] = data_file.READINGS_FILE

    @property
    def held(self) -> Mapping[int, NDArray[Any]]:
        """m×n numbers by node id: what the nodes get."""
        return self.numbers

    @cached_property
    def id(self) -> bytes:
        """The 8 bytes that name the readings (docs/protocol.md, section 6)."""
        return data_file.readings_id(self.numbers, self.decimals)

    def data_file(self, node: int) -> bytes:
        """The data file of a node."""
        return data_file.encode_readings(self.numbers[node], self.decimals, self.id)

    def record(self) -> dict[str, Any]:
        """The record of the retained topic `dataset`; with a grid it becomes another (`dataset.agreed_record`)."""
        nodes = {
            str(node): {"rows": len(own), "sha256": data_file.checksum(self.data_file(node))}
            for node, own in self.numbers.items()
        }
        return {
            "v": VERSION,
            "dataset": self.id.hex(),
            "name": self.name,
            "columns": list(self.columns),
            "bits": data_file.READINGS,
            "decimals": self.decimals,
            "n": len(self.columns),
            "nodes": nodes,
            "constant": list(constant_columns(self.every, self.columns)),
            "dropped": len(self.report.dropped),
        }

    def save(self, folder: str | Path) -> None:
        """Keep them in `folder`, in place of those there. Raises DataError where that fails."""
        keep(self, self.record(), folder, store.READINGS)

    @classmethod
    def load(cls, folder: str | Path) -> "ReadingSet":
        """The readings that `save` kept. Raises DataError where there are none, or they are damaged."""
        kept, arrays = store.read(Path(folder), store.READINGS)
        try:
            numbers = {node: arrays[f"points_{node}"] for node in kept_nodes(arrays)}
            decimals = int(kept["dataset"]["decimals"])
            found = cls(**kept_parts(kept, arrays), numbers=numbers, decimals=decimals)
            same = found.record() == kept["dataset"]
        except (KeyError, TypeError, ValueError, AttributeError, DataError) as error:
            raise store.damaged(Path(folder), f"its parts do not fit together: {error!r}") from None
        if not same:
            raise store.damaged(Path(folder), "its readings are not those of its record")
        return found


def as_readings(data: Gathered, scale: str = "one") -> ReadingSet:
    """The readings as whole numbers: of the fewest decimals, at most 9, with which every one is exact within 32 bits.

    Where there are none such, of as many as fit, rounded half up, and a warning says what is lost. For the scale "std"
    there are more, where they fit, for columns of few places. Raises DataError: no readings, none that fit.
    """
    every = data.every
    bits_for(len(data.columns))
    if not len(every):
        raise DataError(f"{data.name} has no readings")
    for name, column in zip(data.columns, every.T, strict=True):
        if not (np.abs(column) <= LARGEST).all():
            raise DataError(f"column {shown(name)} holds NaN, or a number beyond ±3.4e38; drop such readings")
        if not (np.abs(column) <= LARGEST_NUMBER).all():
            raise DataError(
                f"column {shown(name)} goes up to {np.abs(column).max():g}, and a reading on a node to 2,147,483,647: "
                'take larger units, a constant off, or range = "host"'
            )
    found = decimals_for(every, LARGEST_NUMBER, 0, data_file.MOST_DECIMALS, ROOM if scale == "std" else 0.0)
    decimals = found[0] if found else 0
    numbers = {node: to_fixed(own, decimals).astype(np.int32) for node, own in data.values.items()}
    parts = data.parts() | {"report": data.warned(_losses(data, decimals))}
    return ReadingSet(**parts, numbers=numbers, decimals=decimals)


def _losses(data: Gathered, decimals: int) -> list[str]:
    """A sentence for each column that is not exact in so many decimals."""
    place = float(exact_value(1, decimals))
    said = []
    for name, column in zip(data.columns, data.every.T, strict=True):
        if is_exact(column, decimals):
            continue
        lost = float(np.abs(to_fixed(column, decimals) * place - column).max())
        kept, distinct = len(np.unique(to_fixed(column, decimals))), len(np.unique(column))
        words = f"column {shown(name)}: readings are rounded to {place:g}, off by up to {lost:.2g}"
        if distinct > kept:
            words += (
                f"; {distinct:,} distinct ones become {kept:,}. All columns have the same decimal places, within 32 "
                'bits: bring them to units of like size, or take range = "host"'
            )
        said.append(words)
    return said
