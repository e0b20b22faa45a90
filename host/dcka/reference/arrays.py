"""Array types of the reference, and the checks at its edge: the kernels behind them assume clean input."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

IntArray: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float64]
BoolArray: TypeAlias = NDArray[np.bool_]


def grid_table(values: Any, what: str, bits: int) -> IntArray:
    """`values` as a fresh int64 table (rows, n) of grid coordinates 0 … 2^bits − 1.

    Widening comes before any arithmetic: differences of uint16 would wrap around. Raises ValueError where it
    is no table of whole numbers, or a value is outside the grid.
    """
    table = np.asarray(values)
    if table.ndim != 2:
        raise ValueError(f"{what} must be a table of rows and dimensions, not of shape {table.shape}.")
    if table.size and table.dtype.kind not in "iu":
        raise ValueError(f"{what} must hold whole numbers of the grid, not {table.dtype}; quantise first.")
    if table.size and (int(table.min()) < 0 or int(table.max()) >= 1 << bits):
        raise ValueError(
            f"{what} runs from {int(table.min())} to {int(table.max())}, "
            f"outside a grid of {bits} bits, 0 to {2**bits - 1}."
        )
    return np.array(table, dtype=np.int64)


def finite_table(values: Any, what: str) -> FloatArray:
    """`values` as a fresh float64 table (rows, n). Raises ValueError if it is none, or a value not finite."""
    table = np.array(values, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"{what} must be a table of rows and dimensions, not of shape {table.shape}.")
    if not np.isfinite(table).all():
        row, column = np.argwhere(~np.isfinite(table))[0]
        raise ValueError(
            f"{what} has {table[row, column]} in row {row + 1}, column {column + 1}; leave such rows out."
        )
    return table


def float_table(values: Any, what: str) -> FloatArray:
    """As `finite_table`; raises ValueError also where a sum of squared distances in it could overflow."""
    table = finite_table(values, what)
    if table.size:
        with np.errstate(over="ignore"):
            widest = float(np.square(table.max(axis=0) - table.min(axis=0)).sum()) * len(table)
        if not np.isfinite(widest):
            raise ValueError(
                f"{what} spans too wide a range: squared distances exceed float64; scale the values."
            )
    return table


def same_width(points: NDArray[Any], centres: NDArray[Any]) -> None:
    """Raises ValueError where there is no centre, or points and centres differ in dimensions."""
    if len(centres) < 1:
        raise ValueError("There is no centre; at least one cluster is needed.")
    if points.shape[1] != centres.shape[1]:
        raise ValueError(f"The points have {points.shape[1]} dimensions and the centres {centres.shape[1]}.")
