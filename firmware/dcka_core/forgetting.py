"""A clustering that remembers: the centres that it starts from count as points (protocol, section 5, "Forgetting").

Only what the root makes of the total is another: what nodes say of their own points, and every rule about that, stays.
"""

from dcka_core import tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dcka_core.messages import Commit
    from dcka_core.record import Run


class Session(tree.Session):
    """A node in a run of `tree` with `prior`."""

    def decide(self, commit: "Commit", sums: "list[int]", previous: "list[int]") -> None:
        """With the prior's points in the total."""
        super().decide(commit, with_prior(self.run, sums), previous)


def with_prior(run: "Run", sums: "list[int]") -> "list[int]":
    """The sums, and of each cluster prior_k points that all are the centre that the run began with."""
    total = list(sums)
    width = run.n + 1
    start = run.centres or []
    for cluster in range(run.k):
        weight = run.prior[cluster]
        total[cluster * width] += weight
        for j in range(run.n):
            total[cluster * width + 1 + j] += weight * start[cluster * run.n + j]
    return total
