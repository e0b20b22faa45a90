"""What no node may commit: reckoned from the data alone, without the core's code."""

from typing import TYPE_CHECKING

from plain_kmeans import flat, kmeans, tuples
from plain_kmeans import step as kmeans_step

from dcka_core.messages import CONVERGED, FINAL

if TYPE_CHECKING:
    from facts import Kept

Row = tuple[int, ...]


class Violation(Exception):
    """A law is broken. label: by which event, where that is known."""

    def __init__(self, what: str, label: str = "") -> None:
        super().__init__(what)
        self.label = label


class Laws:
    """The laws of one network's runs, which all have the same `given` start.

    data: each node's points, in index order. most: max_steps by run.
    """

    def __init__(
        self, members: list[int], data: list[list[Row]], start: list[Row], most: dict[int, int]
    ) -> None:
        self.members = members
        self._data = data
        self._start = start
        self._most = most
        self._everyone = (1 << len(members)) - 1
        self._central = kmeans(data, [start] * len(members), None, max(most.values()))

    def check_order(self, before: "Kept | None", after: "Kept") -> None:
        """Rule 12: nobody goes back to a lesser commit."""
        if before is not None and _rank(after) < _rank(before):
            raise Violation(
                f"a commit of step {before.step} was given up for one of step {after.step} that is less"
            )

    def check(self, node: int, boot: int, before: "Kept | None", made: "Kept") -> None:
        """What `node` made of what it held before, if anything; Violation where it may not."""
        self._check_root(node, boot, made)
        contributors = [index for index in range(len(self.members)) if made.contributors >> index & 1]
        if 2 * len(contributors) <= len(self.members):
            raise Violation(f"step {made.step}: committed with {len(contributors)} of {len(self.members)}")
        if made.step != (before.step if before else 0) + 1:
            raise Violation(f"step {made.step} was made of step {before.step if before else 0}")
        absent = self._everyone & ~made.contributors
        if made.missing != absent | (before.missing if before else 0):
            raise Violation(f"step {made.step}: {made.missing:b} is not who was ever missing")
        start = tuples(before.centres, len(self._start[0])) if before else self._start
        outcome = kmeans_step([(self._data[index], start) for index in contributors], start)
        self._check_outcome(made, start, outcome)
        if made.missing == 0 and not _is(made, self._central[made.step - 1]):
            raise Violation(f"step {made.step}: nobody was ever missing, and it is not the central result")

    def _check_root(self, node: int, boot: int, made: "Kept") -> None:
        number, root, since = made.epoch
        if root != node or since != (boot if number else 0):
            raise Violation(f"node {node} in boot {boot} commits in epoch {made.epoch}")

    def _check_outcome(
        self, made: "Kept", start: list[Row], outcome: tuple[list[Row], list[int], int]
    ) -> None:
        if not _is(made, outcome):
            raise Violation(
                f"step {made.step}: the sum over {made.contributors:b} gives {outcome}, "
                f"and {made.centres}, {made.counts}, {made.ssd} were committed"
            )
        converged = list(made.centres) == flat(start)
        final = converged or made.step >= self._most[made.run]
        if bool(made.flags & CONVERGED) != converged or bool(made.flags & FINAL) != final:
            raise Violation(f"step {made.step}: flags {made.flags}")


def _rank(kept: "Kept") -> tuple[object, ...]:
    lost = kept.missing.bit_count()
    return ((2 if not lost else 1) if kept.flags & FINAL else 0, kept.step, -lost, kept.epoch)


def _is(made: "Kept", outcome: tuple[list[Row], list[int], int]) -> bool:
    centres, counts, ssd = outcome
    return (list(made.centres), list(made.counts), made.ssd) == (flat(centres), counts, ssd)
