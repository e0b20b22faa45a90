"""What a run of `tree` in slots adds to the run record and a node's rows (protocol, section 3).

`whole` and `numbers` are those of `record`, which has loaded this file.
"""

from dcka_core.errors import CoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dcka_core.record import Run, Slots

    Whole = Callable[[dict[str, Any], str, int, int], int]
    Numbers = Callable[[dict[str, Any], str, int, int], list[int]]


def read_run(record: "dict[str, Any]", run: "Run", whole: "Whole", numbers: "Numbers") -> None:
    """The length of a slot and the slots of a period. Raises CoreError."""
    run.slot_ms = whole(record, "slot_ms", 4, 1 << 23)
    run.period = whole(record, "period", 2, 24)
    run.part = "duty"


def read_rows(record: "dict[str, Any]", whole: "Whole", numbers: "Numbers") -> "Slots":
    """(up, get, down, hear): in which slot of a period a node sends its sums, is sent the outcome, passes it on; and
    those in which children send. 0 is the beacon's, and stands for none. Raises CoreError.
    """
    if not isinstance(record, dict):
        raise CoreError("slots is no object")
    up, get, down = [whole(record, key, 0, 23) for key in ["up", "get", "down"]]
    return up, get, down, numbers(record, "hear", 1, 23)
