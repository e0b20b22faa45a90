"""What the run record of a seeding leads to: its steps, and the shape of its messages (protocol, section 5, "Seeding").

`whole` is that of `record`, which has loaded this file.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dcka_core.record import Run
    from dcka_core.slot_record import Numbers, Whole

# Numbers of 16 bits that an offer has beside the n of its point: whose it is, three of E, four of T.
BESIDE = 8


def shape(k: int, n: int) -> int:
    """Rows of a message: the centres with their owners behind them, or an offer, whichever takes more."""
    return max(k + (k + n - 1) // n, 1 + (BESIDE + n - 1) // n)


def read_run(record: "dict[str, Any]", run: "Run", whole: "Whole", numbers: "Numbers") -> "dict[str, Any]":
    """The record with a step for each centre, and a state of zeros to start from. Raises CoreError."""
    k = whole(record, "k", 1, 1 << 15)
    n = whole(record, "n", 1, 512)
    record = dict(record)
    record.update({"k": shape(k, n), "max_steps": k, "init": "given", "centres": [0] * (shape(k, n) * n)})
    return record
