"""A run as its record has it: what says which messages are of it, and what rows they make."""

import hashlib
import sys
from array import array
from collections.abc import Mapping
from typing import Any

from dcka.history.batch import Row
from dcka.history.store import RUNNING, dumps
from dcka.inject.dataset import grid_of
from dcka.monitor.events import clean
from dcka.mqtt.statuses import PayloadError, quarantined, whole, wholes
from dcka_core.errors import CoreError
from dcka_core.messages import CONVERGED, FINAL, Commit, is_change, read_commit
from dcka_core.record import read_run
from dcka_core.tree_messages import read_change

Json = dict[str, Any]

EVERYBODY = "*"
"""In place of a list of all members."""
_RESULT_NUMBERS = ("steps", "ssd", "sent", "bytes", "heard", "slots", "heap", "ms", "flags")
_RESULT_MORE = (
    "v", "run", "node", "boot", "converged", "missing", "quarantined", "ledger", "asleep_ms",
    "calinski_harabasz", "bic", "silhouette",
)  # fmt: skip
_MOST = (1 << 63) - 1  # of a database's integers


def uid_of(network: str, record: Mapping[str, Any]) -> str:
    """16 hex digits that name a run: of its network, and all that its record says. Numbers may begin anew."""
    text = json_of([network, record])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def json_of(value: object) -> str:
    """As `dumps`. Raises PayloadError for NaN, which a foreign record may hold."""
    try:
        return dumps(value)
    except ValueError:
        raise PayloadError("it holds a number that is none") from None


class KnownRun:
    """A run of this network, by its record. Raises PayloadError for a record that is none."""

    def __init__(self, network: str, record: Json) -> None:
        try:
            self.run = read_run(record)
        except CoreError as error:
            raise PayloadError(f"no record of a run: {clean(error)}") from None
        self.record = record
        self.number = self.run.number
        self.idle = self.run.kind == "idle"
        self.uid = uid_of(network, record)
        self.network = network
        self.members = frozenset() if self.idle else frozenset(self.run.members)
        self._held: dict[int, Commit] = {}
        self._stored: dict[tuple[int, int, tuple[int, int, int]], tuple[object, ...]] = {}

    def row(self, at: float, unseen: bool) -> Row:
        """Of the table `runs`."""
        return {
            "uid": self.uid,
            "network": self.network,
            "number": self.number,
            "kind": self.run.kind,
            "k": int(self.record.get("k", 0)),
            "nodes": len(self.run.members),
            "dataset": self.run.dataset.hex(),
            "record": json_of(self.record),
            "begun_at": at,
            "unseen": unseen,
            "heard_at": at,
            "state": RUNNING,
            "steps": 0,
            "missing": "[]",
            "reason": "",
        }

    def step_row(self, node: int, record: Json, at: float) -> Row:
        """Of the table `steps`. Raises PayloadError."""
        run = self.run
        step = whole(record, "step")
        if node not in self.members or record.get("node") != node or step >= run.max_steps:
            raise PayloadError("of no member, or no step of this run")
        row: Row = {
            "step": step,
            "node": node,
            "epoch": 0,
            "epoch_node": 0,
            "epoch_boot": 0,
            "at": at,
            "ssd": whole(record, "ssd"),
            "flags": _flags(record),
            "missing": None,
            "moved": None,
            "slots": None,
            "put": None,
            "centres": None,
        }
        if run.kind != "gossip":
            epoch, missing = wholes(record, "epoch", (0, run.root, 0)), wholes(record, "missing", ())
            if len(epoch) != 3 or epoch[1] != node or not self.members.issuperset(missing):
                raise PayloadError("missing or epoch are out of bounds")
            row["epoch"], row["epoch_node"], row["epoch_boot"] = epoch
            row["missing"] = dumps(missing)
            return row
        row["centres"] = self._levels(record.get("centres"))
        row["moved"] = record.get("moved") is True
        row["slots"] = min(whole(record, "slots", 0), 1 << 30)
        put = record.get("put")
        row["put"] = (
            put if isinstance(put, str) and len(put) == 16 and put.isalnum() and put.isascii() else None
        )
        return row

    def commit(self, node: int, payload: bytes) -> Commit | None:
        """The commit, whole or made of what has changed; None for a change whose base did not come.

        Raises PayloadError.
        """
        try:
            if is_change(payload):
                commit = read_change(payload, self.run, self._held.get(node))
            else:
                commit = read_commit(payload, self.run)
        except CoreError as error:
            if getattr(error, "reason", "") in ("base", "stale"):
                return None
            raise PayloadError(f"no commit: {error}") from None
        if commit.sender != node or node not in self.members or commit.ssd > _MOST or commit.step > 1 << 20:
            raise PayloadError("the commit of another node, or out of bounds")
        self._held[node] = commit
        return commit

    def commit_row(self, commit: Commit, at: float) -> Row | None:
        """Of the table `commits`; None in `tree` for one that another node has said before: they are all the same."""
        speaker = commit.sender if self.run.kind == "gossip" else 0
        key = commit.step, speaker, commit.epoch
        body = (
            commit.flags,
            commit.ssd,
            commit.contributors,
            commit.missing,
            *commit.counts,
            *commit.centres,
        )
        if self._stored.get(key) == body:
            return None
        self._stored.setdefault(key, body)
        number, root, boot = commit.epoch
        if max(number, boot, commit.boot) > _MOST:
            return None
        return {
            "step": commit.step,
            "node": commit.sender,
            "epoch": number,
            "epoch_node": root,
            "epoch_boot": boot,
            "at": at,
            "boot": commit.boot,
            "flags": commit.flags,
            "ssd": commit.ssd,
            "contributors": self._ids(commit.contributors),
            "missing": self._ids(commit.missing),
            "counts": dumps(commit.counts),
            "centres": self._levels(commit.centres),
        }

    def rebuilt(self, commit: Commit, at: float) -> Row | None:
        """Of the table `results`, from a final commit: what a node says whose result may have been lost."""
        if not commit.flags & FINAL:
            return None
        record = {
            "v": 1,
            "run": self.number,
            "node": commit.sender,
            "steps": commit.step,
            "converged": bool(commit.flags & CONVERGED),
            "ssd": commit.ssd,
            "flags": commit.flags,
            "missing": [one for index, one in enumerate(self.run.members) if commit.missing >> index & 1],
            "rebuilt": True,
        }
        return {"node": commit.sender, "at": at, "rebuilt": True, "record": dumps(record)}

    def result_row(self, node: int, record: Json, at: float) -> Row:
        """Of the table `results`. Raises PayloadError."""
        rebuilt = record.get("rebuilt") is True
        for name in ("steps", "ssd", "flags") if rebuilt else _RESULT_NUMBERS:
            whole(record, name)
        quarantined(record)
        if (
            node not in self.members
            or record.get("node") != node
            or type(record.get("converged")) is not bool
        ):
            raise PayloadError("no result of a member")
        if not self.members.issuperset(wholes(record, "missing")):
            raise PayloadError("missing are out of bounds")
        kept = {name: record[name] for name in (*_RESULT_NUMBERS, *_RESULT_MORE) if name in record}
        kept |= {"rebuilt": True} if rebuilt else {}
        return {"node": node, "at": at, "rebuilt": rebuilt, "record": json_of(kept)}

    def _levels(self, values: Any) -> bytes:
        """Levels as u16, little-endian. Raises PayloadError."""
        try:
            packed = array("H", values)
        except (TypeError, ValueError, OverflowError):
            raise PayloadError("centres are no levels of a grid") from None
        if len(packed) != self.run.k * self.run.n:
            raise PayloadError("centres are not those of the run's K")
        if sys.byteorder == "big":
            packed.byteswap()
        return packed.tobytes()

    def _ids(self, mask: int) -> str:
        if mask == (1 << len(self.run.members)) - 1:
            return EVERYBODY
        return dumps([one for index, one in enumerate(self.run.members) if mask >> index & 1])


def _flags(record: Json) -> int:
    flags = whole(record, "flags")
    if flags > 31:
        raise PayloadError("flags are out of bounds")
    return flags


def dataset_row(network: str, record: Json, at: float) -> Row:
    """Of the table `datasets`. Raises PayloadError."""
    name = record.get("dataset")
    if not isinstance(name, str) or len(name) != 16 or not all(sign in "0123456789abcdef" for sign in name):
        raise PayloadError("no record of a data set")
    try:
        unit = grid_of(record).unit ** 2
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        unit = None  # readings, which are on no grid yet
    return {
        "network": network,
        "dataset": name,
        "name": clean(record.get("name", ""), 200),
        "unit": unit,
        "record": json_of(record),
        "at": at,
    }
