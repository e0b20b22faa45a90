"""`forgetting` for a run in slots."""

from dcka_core import duty
from dcka_core.forgetting import with_prior

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dcka_core.messages import Commit


class Session(duty.Session):
    """A node in a run of `tree` in slots with `prior`."""

    def decide(self, commit: "Commit", sums: "list[int]", previous: "list[int]") -> None:
        """With the prior's points in the total."""
        super().decide(commit, with_prior(self.run, sums), previous)
