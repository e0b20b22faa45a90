"""What the nodes of one process have in common: the run's record, read once.

It names all members, so a thousand nodes that each kept their own would hold a million ids.
"""

import json
from typing import Any

from dcka_core import record as records
from dcka_core.parts import part
from dcka_core.record import Rows, Run


class Members(list[int]):
    """The ids of a run; where one stands, and whether it is there, is looked up and not searched for."""

    def __init__(self, ids: list[int]) -> None:
        super().__init__(ids)
        self._places = {node: place for place, node in enumerate(ids)}

    def __contains__(self, node: object) -> bool:
        return node in self._places

    def index(self, node: int, *_: Any) -> int:
        """Raises ValueError for who is no member, as a list does."""
        try:
            return self._places[node]
        except KeyError:
            raise ValueError(f"{node} is not in list") from None


class SharedParts:
    """`dcka_core.parts.part` for the nodes of one process, all of which get the same object for the same run record.

    The core never changes a run that it has read; it drops it.
    """

    def __init__(self) -> None:
        self._text = ""
        self._run: Run | None = None

    def __call__(self, name: str) -> Any:
        """The part's module; for `record` this object, which reads as that module does."""
        return self if name == "record" else part(name)

    def read_run(self, record: dict[str, Any]) -> Run:
        """As `dcka_core.record.read_run`. Raises CoreError."""
        # By the text: true and 1 are equal, and only one of them is a number to the core.
        text = json.dumps(record)
        if self._run is None or text != self._text:
            run = records.read_run(record)
            if hasattr(run, "members"):
                run.members = Members(run.members)
            self._run, self._text = run, text
        return self._run

    def read_rows(self, record: dict[str, Any]) -> Rows:
        """As `dcka_core.record.read_rows`: these are each node's own. Raises CoreError."""
        return records.read_rows(record)
