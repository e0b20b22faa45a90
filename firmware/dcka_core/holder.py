"""The data that a node holds, and how they come: points on a grid, readings, and the transfer that is under way."""

from dcka_core.actions import DROP
from dcka_core.voice import Voice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dcka_core.points import Points
    from dcka_core.record import Run


class Holder(Voice):
    """The layer of a node that has data.

    points: on a grid. problem: what is wrong with them, or keeps the node from a run, in words for people.
    """

    points: "Points | None"
    problem: str

    def _hold_nothing(self, load: "Callable[[str], Any]") -> None:
        """load: `parts.part`, or what does the same with less memory."""
        self._load = load
        self.points = None
        self.problem = ""
        # What opens the readings, and their dataset's id in hex.
        self._open: Callable[[], Points | None] | None = None
        self._readings = ""
        self._intake: Any = None

    def _hold_readings(self, dataset: bytes, load: "Callable[[], Points | None]") -> None:
        self._readings = dataset.hex()
        self._open = load

    def forget_data(self) -> None:
        """A new data file is about to be read: a small heap has no room for two."""
        self.points = None

    def _take_chunk(self, payload: "bytes | memoryview", busy: bool) -> bool:
        """A message of a transfer, which a run that goes on refuses. Whether it took all data away."""
        if busy:
            transfer = int.from_bytes(payload[1:5], "little")
            self._publish("got", {"v": 1, "transfer": transfer, "next": 0, "error": "busy"})
            return False
        if self._intake is None:
            self._intake = self._load("intake").Intake()
        actions, answer = self._intake.take(payload)
        self._out.extend(actions)
        if answer:
            self._publish("got", answer)
        if actions and actions[0][0] == DROP:
            self.points = self._open = None
            self._readings = ""
            return True
        return False

    def _finish_transfer(self) -> None:
        """The shell has stored and read what it was to adopt."""
        if self._intake is not None and self._intake.pending:
            self.problem = ""
            self._publish("got", self._intake.finish(""))

    def _fail_transfer(self, error: str) -> None:
        self.problem = error
        if self._intake is not None and self._intake.under_way:
            self._publish("got", self._intake.finish(error))

    def _end_transfer(self) -> None:
        """A run begins: it needs the room."""
        self._intake = None

    def _points_for(self, run: "Run") -> "Points | None":
        """What a run works on; the readings of a survey are read now. CoreError where that fails."""
        if run.kind == "survey":
            return self._open() if self._open else None
        return self.points

    def _describe_data(self, status: "dict[str, Any]", memory: "dict[str, Any]") -> None:
        """What a status says of the data. memory: which points a survey made, and what it clipped."""
        points = self.points
        status["dataset"] = points.dataset.hex() if points else ""
        status["rows"] = points.count if points else 0
        if points:
            status["data"] = points.digest.hex()[:16]
        if self._readings:
            status["readings"] = self._readings
        clipped = memory.get("clipped")
        if clipped and points and memory["made"] == status["dataset"]:
            status["clipped"] = clipped
        if self.problem:
            status["problem"] = self.problem
