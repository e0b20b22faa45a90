"""What the record of a `score` says, and the shape of its sums (protocol, section 5, "Score").

`whole` and `numbers` are those of `record`, which has loaded this file.
"""

from dcka_core.errors import CoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dcka_core.record import Run
    from dcka_core.slot_record import Numbers, Whole

# Numbers of 16 bits in the state that a score commits.
STATE = 10


def read_run(record: "dict[str, Any]", run: "Run", whole: "Whole", numbers: "Numbers") -> "dict[str, Any]":
    """The record with what follows from it: rows for each cluster and one more, a start of zeros, one step.

    Raises CoreError.
    """
    k = whole(record, "k", 1, 65000)
    n = whole(record, "n", 1, 512)
    run.scored = numbers(record, "centres", 0, (1 << whole(record, "bits", 1, 15)) - 1)
    if len(run.scored) != k * n:
        raise CoreError("centres: %d numbers are needed" % (k * n))
    rows = max(k + 1, (STATE + n - 1) // n)
    record = dict(record)
    record.update({"k": rows, "max_steps": 1, "seed": 0, "init": "given", "centres": [0] * (rows * n)})
    return record
