"""Whether a clustering of a window is what the reference makes of the readings that the nodes were given."""

from collections.abc import Mapping, Sequence

import numpy as np

from dcka.check import check
from dcka.inject.dataset import Agreed, Dataset, from_values
from dcka.inject.quantise import Grid
from dcka.inject.whole_grid import WholeGrid
from dcka.runs.outcome import Outcome

EXACT, PARTIAL, UNFINISHED, WRONG = "exact", "partial", "unfinished", "wrong"
Rows = Sequence[tuple[int, ...]]


def judge(
    outcome: Outcome, columns: Sequence[str], grid: WholeGrid, windows: Mapping[int, Rows | None]
) -> tuple[str, str]:
    """(one of the four words, why). `windows`: by member, the readings that it had to have in this window, by the
    witness; None where it was never asked to make its points.

    Exact: all members' final centres, counts and SSD are the reference's, bit for bit. Partial: the same of those who
    were there, who are named. Unfinished: no result. Anything else is wrong.
    """
    if not outcome.finished:
        return UNFINISHED, outcome.reason
    lacking = [node for node, rows in windows.items() if rows is None]
    if lacking:
        return WRONG, f"nodes {lacking} took part with points that they never made"
    verdict = check(outcome, _dataset(columns, grid, windows, bytes.fromhex(outcome.dataset)), beside=False)
    if verdict.word == "FAIL":
        return WRONG, "; ".join(verdict.reasons)
    return (PARTIAL if verdict.partial else EXACT), "; ".join(verdict.reasons)


def _dataset(
    columns: Sequence[str], whole: WholeGrid, windows: Mapping[int, Rows | None], name: bytes
) -> Dataset:
    """The window as a data set: the levels by the host's own arithmetic."""
    numbers = {
        node: np.array(rows or [], dtype=np.int64).reshape(-1, len(columns)) for node, rows in windows.items()
    }
    scale = 10.0 ** -whole.decimals[0]
    values = {node: own.astype(np.float64) * scale for node, own in numbers.items()}
    gathered = from_values("window", tuple(columns), values)
    levels = {node: whole.quantise_fixed(own) for node, own in numbers.items()}
    clipped = np.sum([counts for _, counts in levels.values()], axis=0)
    return Dataset(
        **gathered.parts(),
        grid=Grid.of_whole(whole, "one", ()),
        points={node: points for node, (points, _) in levels.items()},
        clipped=tuple(int(count) for count in clipped),
        agreed=Agreed({}, name, 0, 0),
    )
