"""A run as it can be told again: its record, links, and of every step the SSD, the centres and the disagreement.

Pure, as `state`: messages come in, and `changed` says which parts of the story are other than before. A part is a
name and a record that JSON can hold; all parts together are the story, in whatever order they come, and a part that
comes twice changes nothing.
"""

from typing import Any

from dcka.energy import BATTERY_MAH, DAY_MS, topic_bytes
from dcka.inject.dataset import grid_of
from dcka.monitor.centres import Centres
from dcka.monitor.events import clean
from dcka.monitor.links import contraction, row_record
from dcka.monitor.progress import RunProgress
from dcka.monitor.spread import Spreads
from dcka.mqtt.statuses import PayloadError, whole, wholes
from dcka.runs.ledgers import node_ledger, require_ledger
from dcka_core.errors import CoreError
from dcka_core.messages import peek_run
from dcka_core.record import Rows, Run, read_rows, read_run

Json = dict[str, Any]

PARAMETERS = (
    "kind", "k", "n", "bits", "points", "init", "seed", "max_steps", "patience_ms", "slot_ms", "period", "window",
    "tolerance", "slots", "max_slots", "dataset", "root", "depth", "bins", "tail_ppm", "scale", "seeding",
)  # fmt: skip
_LONGEST_TEXT = 40


class Story:
    """One run. `run`: its record as the core reads it; `at`: when it began for us, monotonic seconds.

    Raises PayloadError for a record that is none.
    """

    def __init__(self, record: Json, network: str, at: float, retained: bool = False) -> None:
        try:
            self.run: Run = read_run(record)
        except CoreError as error:
            raise PayloadError(f"no run: {clean(error, 60)}") from None
        self.record = record
        self.at = at
        self.retained = retained
        self.progress = RunProgress()
        self.progress.begin(record)
        clusters = self.run.kind in ("tree", "gossip")
        self.centres = Centres(self.run) if clusters else None
        self.spreads = Spreads(self.run) if self.run.kind == "gossip" else None
        self.rows: dict[int, Rows] = {}
        self.grid: Json | None = None
        self.ended_at: float | None = None
        self.changed: set[str] = {"run"}
        self._topic = topic_bytes(network, self.run.members) if clusters else 0
        self._results: dict[int, Json] = {}
        self._moved: dict[int, dict[int, bool]] = {}
        self._slots: dict[int, int] = {}
        self._missing: dict[int, list[int]] = {}
        self._rate: float | None = None
        if self.centres is not None:
            self.changed |= {f"centres/{step}" for step in self.centres.steps}

    @property
    def number(self) -> int:
        """The run's."""
        return self.run.number

    @property
    def finished(self) -> bool:
        """Whether all that are not missing have given their result."""
        there = set(self.progress.members) - self.progress.missing
        return bool(self.progress.done) and there <= self.progress.done

    @property
    def parts(self) -> list[str]:
        """The names of all parts that there are."""
        names = ["run", *(f"rows/{node}" for node in self.rows)]
        names += [f"step/{step}" for step in sorted(self.progress.ssd)]
        if self.centres is not None:
            names += [f"centres/{step}" for step in sorted(self.centres.steps)]
        if self.spreads is not None:
            names += [f"spread/{step}" for step in self.spreads.steps()]
            names += ["slot"] if self.spreads.slot else []
        return names + [f"result/{node}" for node in sorted(self._results)]

    # ---- what comes ----

    def take_rows(self, node: int, record: Json) -> None:
        """`rows/<node>`. Raises PayloadError."""
        try:
            rows = read_rows(record)
        except CoreError as error:
            raise PayloadError(f"no rows: {clean(error, 60)}") from None
        if rows.number != self.number or node not in self.run.members:
            return
        self.rows[node] = rows
        if self.run.kind == "gossip" and self._rate is None and len(self.rows) == len(self.run.members):
            self._rate = contraction(self.rows, self.run.members)
            self.changed.add("run")
        self.changed.add(f"rows/{node}")

    def know_dataset(self, record: Json) -> None:
        """The record of a data set; only that of the run is of interest."""
        if self.run.kind not in ("tree", "gossip") or record.get("dataset") != self.record.get("dataset"):
            return
        try:
            self.progress.know_dataset(record)
            grid = grid_of(record)
            columns = [clean(name, _LONGEST_TEXT) for name in record["columns"]]
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise PayloadError(f"no record of a data set: {clean(error, 40)}") from None
        if len(columns) != self.run.n or len(grid.offset) != self.run.n:
            raise PayloadError("a data set of other dimensions")
        self.grid = {
            "name": clean(record.get("name", ""), _LONGEST_TEXT),
            "columns": columns,
            "offset": list(grid.offset),
            "steps": list(grid.steps),
            "extents": list(grid.extents),
            "scale": grid.scale,
            "unit": grid.unit,
        }
        self.changed.add("run")
        self.changed |= {f"step/{step}" for step in self.progress.ssd}

    def take_step(self, node: int, record: Json) -> None:
        """`step/<node>`."""
        if whole(record, "run") != self.number or node not in self.run.members:
            return
        step = whole(record, "step")
        if step >= self.run.max_steps:
            raise PayloadError("step")
        if self.run.kind == "gossip" and not self._take_part(node, step, record):
            return
        ended = self.progress.take_step(node, record)
        if ended is not None:
            self._missing[step] = list(ended.missing)
            self.changed |= {"run", f"step/{step}"}

    def _take_part(self, node: int, step: int, record: Json) -> bool:
        """What a node of `gossip` tells of a step; False where it has told of it before: its first word stands."""
        moved = self._moved.setdefault(step, {})
        if node in moved or self.centres is None:
            return False
        slots = whole(record, "slots", low=1)
        changed = self.centres.take_step(node, record)
        moved[node] = record.get("moved") is True
        self._slots[step] = max(slots, self._slots.get(step, 0))
        if changed is not None:
            self.changed |= {f"centres/{changed}", "run"}
        return True

    def take_commit(self, node: int, payload: bytes) -> None:
        """`commit/<node>`."""
        if self.centres is None or not payload:
            return
        try:
            of_this = peek_run(payload) == self.number
        except CoreError as error:
            raise PayloadError(str(error)) from None
        if not of_this:
            return
        changed = self.centres.take_commit(node, payload)
        if changed is not None:
            self.progress.take_commit(self.number, node, changed)
            self.changed |= {f"centres/{changed}", "run"}

    def take_share(self, node: int, payload: bytes) -> None:
        """`x/<phase>/<node>`, in `gossip`."""
        if self.spreads is None or node not in self.run.members:
            return
        before = self.spreads.slot
        changed = self.spreads.take(node, payload)
        if changed is not None:
            self.changed.add(f"spread/{changed}")
        if self.spreads.slot != before:
            self.changed.add("slot")

    def take_result(self, node: int, record: Json, at: float) -> None:
        """`result/<node>`. Raises PayloadError."""
        if record.get("run") != self.number or node not in self.run.members:
            return
        told: Json = {
            name: whole(record, name) for name in ("steps", "ssd", "ms", "sent", "bytes", "heard", "slots")
        }
        if type(record.get("converged")) is not bool:
            raise PayloadError("converged is neither true nor false")
        require_ledger(record)
        missing = [one for one in wholes(record, "missing", ()) if one in self.run.members]
        told |= {"converged": record["converged"], "missing": missing}
        self.progress.take_result(node, missing)
        self._results[node] = told | self._energy(record)
        if self.finished and self.ended_at is None:
            self.ended_at = at
        self.changed |= {"run", f"result/{node}"}

    def _energy(self, record: Json) -> Json:
        """The modelled charge of the run, and how long a battery would last if the node went on like that."""
        if not self._topic or "ledger" not in record:
            return {}
        ledger = node_ledger(record, self._topic)
        span_ms = ledger.awake_ms + (ledger.asleep_ms or 0)
        days = BATTERY_MAH / (ledger.mah / span_ms * DAY_MS) if span_ms and ledger.mah else None
        return {"mah": ledger.mah, "awake_share": ledger.awake_share, "battery_days": days}

    # ---- its parts ----

    def part(self, name: str) -> Json | None:
        """The part of this name; None where there is none."""
        kind, _, rest = name.partition("/")
        if kind == "run":
            return self._head()
        if kind == "slot" and self.spreads is not None and self.spreads.slot is not None:
            return dict(zip(("step", "slot", "phase"), self.spreads.slot, strict=True))
        number = int(rest)
        if kind == "rows":
            return row_record(self.rows[number])
        if kind == "step":
            return self._step(number)
        if kind == "centres" and self.centres is not None:
            return self.centres.steps[number].record()
        if kind == "spread" and self.spreads is not None:
            return {"windows": self.spreads.of_step(number)}
        if kind == "result":
            return self._results[number]
        return None

    def _head(self) -> Json:
        progress = self.progress
        return {
            "number": self.number,
            "title": progress.title(),
            "parameters": {name: self.record[name] for name in PARAMETERS if name in self.record},
            "members": list(progress.members),
            "root": progress.root,
            "epoch": progress.epoch,
            "scheduled": progress.scheduled,
            "missing": sorted(progress.missing),
            "done": sorted(progress.done),
            "finished": self.finished,
            "step": progress.step,
            "retained": self.retained,
            "seconds": None if self.ended_at is None else self.ended_at - self.at,
            "grid": self.grid,
            "rate": self._rate,
            "thinned": self.centres is not None and self.centres.thinned,
        }

    def _step(self, step: int) -> Json:
        moved = self._moved.get(step)
        return {
            "ssd": self.progress.ssd[step],
            "missing": self._missing.get(step, []),
            "moved": None if moved is None else sum(moved.values()),
            "slots": self._slots.get(step),
        }
