"""What a record with `prior` adds: the given centres count as points of earlier times (protocol, section 5,
"Forgetting").

`whole` and `numbers` are those of `record`, which has loaded this file.
"""

from dcka_core.errors import CoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dcka_core.record import Run
    from dcka_core.slot_record import Numbers, Whole


def read_run(record: "dict[str, Any]", run: "Run", whole: "Whole", numbers: "Numbers") -> None:
    """As how many points each centre counts, and the part that adds them. Raises CoreError."""
    run.prior = numbers(record, "prior", 0, 1 << 40)
    if run.kind != "tree" or run.init != "given" or len(run.prior) != run.k:
        raise CoreError("prior: %d numbers are needed, in a run of tree from given centres" % run.k)
    run.part = "forgetting_duty" if run.part == "duty" else "forgetting"
