"""What a node says of itself: who it is and how it fares, what a run has cost, and that somebody else has its id."""

from json import dumps

from dcka_core.actions import PUBLISH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

VERSION = "0.1.0"
# What main.py and the versions that it starts expect of each other; a cable alone brings another main.py.
START = 1
# A second node of our id is told of until it has been silent for so many heartbeats.
_TWIN_BEATS = 3
# Places in the ledger (protocol, section 7).
_LEDGER = 7


class Voice:
    """The layer of a node that speaks.

    A node is one object, in layers that each know those before: a small heap pays for every object. The build makes one
    class of them.
    """

    def _introduce(
        self,
        network: str,
        node: int,
        boot: int,
        nonce: int,
        max_message: int,
        runtime: str,
        vitals: "Callable[[], tuple[int, int]]",
    ) -> None:
        """Who speaks: see `dcka_core.node.Node`."""
        self._prefix = "dcka/%s/" % network
        self._id = node
        self._boot = boot
        self._nonce = nonce
        self._max_message = max_message
        self._runtime = runtime
        self._vitals = vitals
        self._out: list[Any] = []
        # Heartbeats for which a twin is still told of, and how many wills of others have come.
        self._twin = 0
        self._wills = 0
        self.dropped: dict[str, int] = {}
        # What parts that not every node has say of themselves, under their names.
        self.also: dict[str, Any] = {}
        self.ledger = [0] * _LEDGER
        # What it was when the run's rows were taken.
        self._before = [0] * _LEDGER

    def will(self) -> "tuple[str, str]":
        """(topic, payload) of what the broker says for a node that has gone without a word."""
        status = {"v": 1, "node": self._id, "boot": self._boot, "state": "offline"}
        status["nonce"] = self._nonce
        return self._topic("status"), dumps(status)

    def count(self, reason: str) -> None:
        """Count a message that was dropped."""
        self.dropped[reason] = self.dropped.get(reason, 0) + 1

    def _topic(self, kind: str) -> str:
        return "%s%s/%d" % (self._prefix, kind, self._id)

    def _publish(self, kind: str, report: "dict[str, Any]", retain: bool = False) -> None:
        self._out.append((PUBLISH, self._topic(kind), dumps(report, separators=(",", ":")), retain))

    def _describe_self(self, status: "dict[str, Any]") -> None:
        """What a status says of the node, whatever it does."""
        status.update(self.also)
        status["v"] = 1
        status["node"] = self._id
        status["boot"] = self._boot
        status["nonce"] = self._nonce
        status["max_message"] = self._max_message
        status["firmware"] = VERSION
        status["runtime"] = self._runtime
        status["dropped"] = self.dropped
        status["ledger"] = self.ledger
        if self._twin:
            status["twin"] = True

    def _hear_other(self, nonce: int, state: "Any") -> bool:
        """A status under our id that is not ours: a late will, or a twin's. Whether to say our own at once."""
        # One foreign will is our last boot's, come late. Where the broker throws two of one id out in turn, each sees
        # but the other's wills.
        self._wills += 1 if state == "offline" and nonce != self._nonce else 0
        known = self._twin
        if state != "offline" or self._wills > 1:
            self._twin = _TWIN_BEATS
            self.count("twin")
        # To a living twin we speak once, or two of us would answer each other for ever.
        return state == "offline" or not known

    def _beat(self) -> None:
        """A heartbeat has passed."""
        self._twin = max(0, self._twin - 1)

    def _count_anew(self) -> None:
        """What the ledger counts from now on is the next run's."""
        self._before = list(self.ledger)

    def _add_cost(self, report: "dict[str, Any]") -> None:
        """What a run's result says of its cost: the ledger's growth since `_count_anew`."""
        spent = list(self.ledger)
        for index in range(_LEDGER):
            spent[index] -= self._before[index]
        report["ledger"] = spent
        report["slots"], _, report["sent"], report["bytes"], report["heard"], _, _ = spent
        report["boot"] = self._boot
        report["heap"] = self._vitals()[0]
