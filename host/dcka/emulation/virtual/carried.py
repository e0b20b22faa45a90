"""What a board keeps in RTC memory over a deep sleep: 2,048 bytes, gone with the power."""

from dataclasses import dataclass

RTC_BYTES = 2048
_WORD = 4


@dataclass(frozen=True)
class Carried:
    """`asked_ms`: for how long the sleep was to be. `clock`, `rota`: their numbers; `waiting`: readings that are not on
    flash yet. Raises ValueError for more than has room.
    """

    asked_ms: int
    clock: tuple[int, ...]
    rota: tuple[int, ...]
    waiting: bytes

    def __post_init__(self) -> None:
        size = _WORD * (1 + len(self.clock) + len(self.rota)) + len(self.waiting)
        if size > RTC_BYTES:
            raise ValueError(f"{size} bytes for RTC memory, and it has {RTC_BYTES}")
