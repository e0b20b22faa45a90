"""What nobody says in a run of `tree` who keeps to the rules (protocol, section 5, "What can't be").

A node holds what its neighbours say against the run's record, its rows and what they said before: no traffic comes of
it. Whatever honest nodes pass on holds here too, so that nobody is blamed for what came from behind him.
"""

from dcka_core import session
from dcka_core.errors import MessageError
from dcka_core.messages import CONVERGED, FINAL, KEPT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dcka_core.messages import Commit
    from dcka_core.tree_messages import Up

# Epochs grow by one; a node that has been away for long finds a higher one, but never by so many bits.
_EPOCH_BITS = 20


class Possible(session.Session):
    """The layer of a node in a run of `tree` that looks at what comes, before it counts.

    epoch: (number, node, boot). root: whether this node commits in it. of_points: whether the rows are sums of points;
    where they are something else, they are not looked at.
    """

    epoch: "tuple[int, int, int]"
    root: bool
    of_points = True

    def require_set(self, sender: int, contributors: int) -> None:
        """MessageError `set`: a node is among its own contributors, and in epoch 0 its subtree's range has them all."""
        members = self.run.members
        place = members.index(sender)
        beyond = 0
        if not self.epoch[0]:
            # In preorder a subtree ends where the next child's begins, or with the own.
            end = place + 1
            most = min(len(members), members.index(self.node) + self.rows.span)
            while end < most and members[end] not in self.rows.children:
                end += 1
            beyond = contributors >> end << end | contributors & (1 << place) - 1
        if beyond or not contributors >> place & 1:
            raise MessageError("set")

    def require_epoch(self, epoch: "tuple[int, int, int]") -> None:
        """MessageError `root`: no member can have minted it; `epoch`: it is too far ahead."""
        number, node, boot = epoch
        run = self.run
        if node not in run.members or not (number or (node == run.root and not boot)):
            raise MessageError("root")
        if number - self.epoch[0] >> _EPOCH_BITS > 0:
            raise MessageError("epoch")

    def is_lawful(self, commit: "Commit") -> bool:
        """Whether the root of its epoch can have made it."""
        run = self.run
        number, root, _ = commit.epoch
        contributors = commit.contributors
        absent = (1 << len(run.members)) - 1 & ~contributors
        # Rule 10: in the second epoch in a row of which it is the root; epoch 0 is one of R0's.
        few = absent and (
            number <= (root != run.root)
            or 2 * size(contributors) <= len(run.members)
            or absent & ~commit.missing
        )
        ends = commit.flags & CONVERGED or commit.step == run.max_steps
        return not (
            few
            or not contributors >> run.members.index(root) & 1
            or not 1 <= commit.step <= run.max_steps
            or bool(commit.flags & FINAL) != bool(ends)
            or (self.of_points and self._doubt_outcome(commit))
        )

    # ---- of clusterings ----

    def _doubt_outcome(self, commit: "Commit") -> bool:
        """Whether counts, flags and SSD can't be those of these contributors."""
        points = sum(commit.counts)
        first = commit.step == 1 and not self.run.common
        return (
            not self._is_size(points, commit.contributors, 0, first)
            or bool(commit.flags & KEPT) != (0 in commit.counts)
            or commit.ssd > points * self.run.n << 2 * self.run.bits
        )

    def doubt_sums(self, message: "Up", known: "Up | None") -> str:
        """The reason for which sums can't be those of these contributors: `points`; or, beside what is `known` of the
        same, `conflict`. Empty where there is none.

        Points are whole numbers q, 0 to top: m of them with the sum u have squares of u²/m at least, to the next whole
        points, and as q·q is top·q at most, of top·u at most.
        """
        if not self.of_points:
            return ""
        run = self.run
        width = run.n + 1
        top = (1 << run.bits) - 1
        sums = message.sums
        points = least = whole = 0
        for row in range(0, run.rows, width):
            count = sums[row]
            points += count
            for index in range(row + 1, row + width):
                total = sums[index]
                if total > count * top:
                    return "points"
                whole += total
                if count:
                    mean = total // count
                    least += mean * total + (total - mean * count) * (mean + 1)
        first = not (message.step or run.common)
        most = whole * top
        if first:
            # What stands for squares are distances.
            least, most = 0, points * run.n << 2 * run.bits
        # In the scheduled tree nobody comes before the sender.
        place = 0 if self.epoch[0] else run.members.index(message.sender)
        if not least <= message.squares <= most or not self._is_size(
            points, message.contributors, place, first
        ):
            return "points"
        if known is None or first or not (known.step or run.common):
            return ""
        # Points go from cluster to cluster, and all of them together stay as they are.
        same = known.squares == message.squares
        for j in range(1, width):
            same = same and sum(sums[j::width]) == sum(known.sums[j::width])
        return "" if same else "conflict"

    def _is_size(self, points: int, members: int, index: int, first: bool) -> bool:
        """Whether these members, of whom none is before `index`, put in so many points. first: in a step 0 without
        common centres, in which a node with fewer than K points has none to draw, and puts in nothing; labels it has.
        """
        run = self.run
        if not first and members + 1 == 1 << len(run.members):
            return points == run.points
        if not run.sizes:
            return points <= run.points
        members >>= index
        while members:
            here = run.sizes[min(index, len(run.sizes) - 1)]
            if members & 1 and not (first and here < run.k and run.init != "partition"):
                points -= here
            members >>= 1
            index += 1
        return points == 0


def size(members: int) -> int:
    """How many indices a set has."""
    count = 0
    while members:
        members &= members - 1
        count += 1
    return count
