"""What a simulated week is to be like."""

from dataclasses import dataclass, field
from pathlib import Path

from dcka.emulation.air import Faults
from dcka.errors import UsageError

SOURCES = ("auto", "ulb", "suthaharan", "generated")
MOST_DAYS = 366
MOST_NODES = 200


class WeekError(UsageError):
    """A week that can't be as it was asked for; nothing was simulated."""


@dataclass(frozen=True)
class WeekSettings:
    """`source`: one of SOURCES; `folder`: where the library's files are. `nodes`: of a generated network.

    `every_s`: between clusterings; `window_s`: how far back each looks; `sample_s`: between readings. `faults`: of the
    radio, on top of what its data say. `failing`: whether power, boards and the broker fail, too. `drifting`: whether
    the nodes' clocks are wrong. `updating`: whether two versions come over the air, a sound one and a broken one.

    Raises WeekError for what is outside.
    """

    days: float = 7.0
    seed: int = 1
    source: str = "auto"
    folder: Path | None = None
    nodes: int | None = None
    every_s: int = 3600
    window_s: int = 86_400
    sample_s: int = 600
    k: int = 4
    faults: Faults = field(default_factory=Faults)
    failing: bool = True
    drifting: bool = True
    updating: bool = True
    battery_mah: float = 2600.0

    def __post_init__(self) -> None:
        if self.source not in SOURCES:
            raise WeekError(f"--data is one of {', '.join(SOURCES)}, not {self.source!r}")
        if not 0 < self.days <= MOST_DAYS:
            raise WeekError(f"--days is a number above 0, up to {MOST_DAYS}, not {self.days:g}")
        if self.nodes is not None and not 2 <= self.nodes <= MOST_NODES:
            raise WeekError(f"--nodes is a number from 2 to {MOST_NODES}, not {self.nodes}")
        if self.nodes is not None and self.source not in ("auto", "generated"):
            raise WeekError(
                f"--nodes is of a generated network; {self.source} has the nodes that its data have"
            )
        if self.days * 86_400 < 2 * self.every_s:
            raise WeekError(
                f"--days {self.days:g} is too short: there is a clustering every {self.every_s} s, and the first "
                "after one period"
            )
