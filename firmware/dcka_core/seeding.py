"""A seeding: the network draws K of its points by k-means++, over the tree (protocol, section 5, "Seeding").

In the place of sums an offer goes up; of two offers the smaller one stays, so that, as with sums, what stands here
twice counts once, and the order is irrelevant.
"""

from dcka_core import tree
from dcka_core.errors import MessageError
from dcka_core.offers import MOST_E, make_offer
from dcka_core.seeding_record import BESIDE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dcka_core.messages import Commit
    from dcka_core.tree_messages import Up


class Session(tree.Session):
    """A node in a seeding; step r draws centre r."""

    of_points = False

    def measure(self, centres: "list[int]") -> "tuple[list[int], int]":
        """The node's offer, in rows as sums are; rows of zeros for none."""
        run = self.run
        offer = make_offer(self.points, centres, self._step, run.seed, self.node)
        if offer is None:
            return [0] * run.rows, 0
        e, total, point = offer
        return in_rows(point + [self.node] + _pieces(e, 3) + _pieces(total, 4), run.n, run.rows), 0

    def moment(self, sums: "list[int]") -> int:
        """Offers have no squares."""
        return 0

    def _take(self, message: "Up") -> None:
        """A child's offer has to be one, and of a node that is among its contributors."""
        run = self.run
        sums = message.sums
        if sums[0]:
            n = run.n
            numbers = numbers_of(sums, n)
            e, total = key_of(sums, n)
            owner = numbers[n]
            sound = (
                not max(numbers[:n]) >> run.data_bits
                and not max(numbers) >> 16
                and 1 <= e <= MOST_E
                and 1 <= total <= 1 << 63
                and owner in run.members
                and message.contributors >> run.members.index(owner) & 1
                and sums == in_rows(numbers, n, run.rows)
            )
        else:
            sound = not max(sums)
        if not sound or message.squares:
            raise MessageError("value")
        super()._take(message)

    def is_lawful(self, commit: "Commit") -> bool:
        """What is drawn are points, on the grid of the data: the state has more bits than these, for ids."""
        run = self.run
        return not max(commit.centres[: run.max_steps * run.n]) >> run.data_bits and super().is_lawful(commit)

    def _total(self) -> "tuple[list[int], int]":
        """The smallest offer of the subtree."""
        best = self._sums
        for message in self._latest.values():
            if message.step == self._step and is_less(message.sums, best, self.run.n):
                best = message.sums
        return best, 0

    def decide(self, commit: "Commit", sums: "list[int]", previous: "list[int]") -> None:
        """The point of the smallest offer is the next centre. Without an offer nothing changes, and that ends it:
        there are no more distinct points.
        """
        run = self.run
        commit.flags = 0
        commit.counts = [0] * run.k
        commit.centres = list(previous)
        if sums[0]:
            n = run.n
            numbers = numbers_of(sums, n)
            place = self._step * n
            commit.centres[place : place + n] = numbers[:n]
            # K rows of centres, and then whose they are.
            commit.centres[run.max_steps * n + self._step] = numbers[n]


def in_rows(numbers: "list[int]", n: int, length: int) -> "list[int]":
    """Numbers of an offer as the `u` of rows (m, u_1 ... u_n), with m = 1 in each row that has some."""
    rows = [0] * length
    for at in range(len(numbers)):
        row = at // n * (n + 1)
        rows[row] = 1
        rows[row + 1 + at % n] = numbers[at]
    return rows


def numbers_of(rows: "list[int]", n: int) -> "list[int]":
    """What `in_rows` was given: the point, whose it is, three pieces of E, four of T."""
    return [rows[at // n * (n + 1) + 1 + at % n] for at in range(n + BESIDE)]


def _pieces(value: int, count: int) -> "list[int]":
    """A number in pieces of 16 bits, the uppermost first."""
    return [value >> 16 * at & 0xFFFF for at in range(count - 1, -1, -1)]


def key_of(rows: "list[int]", n: int) -> "tuple[int, int]":
    """(E, T) of an offer in rows."""
    pieces = numbers_of(rows, n)[n + 1 :]
    e = total = 0
    for piece in pieces[:3]:
        e = e << 16 | piece
    for piece in pieces[3:]:
        total = total << 16 | piece
    return e, total


def is_less(rows: "list[int]", other: "list[int]", n: int) -> bool:
    """Whether an offer beats another: E/T is smaller, or the same and the id is lower. None at all beats nothing."""
    if not rows[0] or not other[0]:
        return bool(rows[0])
    e, total = key_of(rows, n)
    e_other, total_other = key_of(other, n)
    # No quotients: these would have to be rounded.
    one, two = e * total_other, e_other * total
    return one < two or (one == two and numbers_of(rows, n)[n] < numbers_of(other, n)[n])
