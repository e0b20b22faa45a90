"""What the record of a `tail` says, and the shape of its sums (protocol, section 5, "Tail").

`whole` and `numbers` are those of `record`, which has loaded this file.
"""

from dcka_core.errors import CoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dcka_core.record import Run
    from dcka_core.slot_record import Numbers, Whole

# Numbers in the state: two halves of the distance as far as it is known, and the steps made.
STATE = 3
# Events of a node in a run: each is a message, and a list of as many points is kept for them.
MOST_EVENTS = 64


def read_run(record: "dict[str, Any]", run: "Run", whole: "Whole", numbers: "Numbers") -> "dict[str, Any]":
    """The record with what follows from it: rows for the counts, a step a digit, a start of zeros. Raises CoreError."""
    k = whole(record, "k", 1, 65000)
    n = whole(record, "n", 1, 512)
    run.scored = numbers(record, "centres", 0, (1 << whole(record, "bits", 1, 15)) - 1)
    if len(run.scored) != k * n:
        raise CoreError("centres: %d numbers are needed" % (k * n))
    run.bins = whole(record, "bins", 2, 16)
    if run.bins not in (2, 4, 16):
        raise CoreError("bins is %d: 2, 4 or 16 is needed" % run.bins)
    run.tail_ppm = whole(record, "tail_ppm", 0, 499999)
    run.reveal = whole(record, "reveal", 0, MOST_EVENTS)
    rows = (max(run.bins - 1, STATE) + n - 1) // n
    steps = 32 // {2: 1, 4: 2, 16: 4}[run.bins]
    record = dict(record)
    record.update({"k": rows, "max_steps": steps, "seed": 0, "init": "given", "centres": [0] * (rows * n)})
    return record
