"""When the clusterings of a stream begin: at whole multiples of the period, so that a host that restarts keeps them."""

from dataclasses import dataclass

RETRY_S = 30
"""After a clustering that failed, a broker that was away say, it is tried again so much later."""


@dataclass(frozen=True)
class Pace:
    """`every_s`: from one clustering to the next. `until_s`: when it ends, None for never; in seconds since 2020."""

    every_s: int
    until_s: int | None = None

    def first(self, now_s: int, done_s: int) -> int:
        """When to begin: now, unless the clustering of this period was made before, at `done_s`."""
        return now_s if done_s < now_s // self.every_s * self.every_s else self.following(now_s)

    def following(self, now_s: int) -> int:
        """The next multiple after now."""
        return (now_s // self.every_s + 1) * self.every_s

    def again(self, now_s: int) -> int:
        """When to try again after a failure: soon, and not later than the next one is due."""
        return min(self.following(now_s), now_s + RETRY_S)

    def is_over(self, next_s: int) -> bool:
        """Whether a clustering at `next_s` would be after the end."""
        return self.until_s is not None and next_s >= self.until_s
