"""One node's update: what was asked, what it answered, what is in flight (docs/protocol.md, section 9).

A pure state machine but for the clock that is passed in: answers and the node's retained word go in, messages go out by
`send`. Each message is said again until it is answered, through outages of node, broker and host alike.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from dcka.updates.manifests import Signed
from dcka_core.bounds import varint_bytes
from dcka_core.codec import put_varint
from dcka_core.messages import UPDATE
from dcka_core.update import ASK, GO_ON, MANIFEST, PIECE, START

RESEND_S = 1.5  # copying a file on a board and hashing it takes some 0.2 s
PATIENCE_S = 120.0
"""So long a node may be silent, or in a run, before it is left alone: it can be gone on with later."""
MOST_DAMAGED = 5
"""So often a file may arrive otherwise than it was sent: then it is the node's flash."""
_HEAD = 1 + 4 + 1


class State(StrEnum):
    """Where a node's update stands; those from CURRENT on are the ends."""

    WAITING = "waiting"
    ASKING = "asking"
    SENDING = "sending"
    TRIAL = "trial"
    CURRENT = "current"
    JOINED = "joined"
    ROLLED_BACK = "rolled back"
    REFUSED = "refused"
    FAILED = "failed"
    HELD = "held"


ENDS = (State.CURRENT, State.JOINED, State.ROLLED_BACK, State.REFUSED, State.FAILED, State.HELD)


@dataclass
class Told:
    """What there is to report of one node."""

    node: int
    state: State = State.WAITING
    version: str = ""
    before: str = ""
    reason: str = ""
    sent: int = 0
    copied: int = 0
    files: int = 0
    bytes: int = 0
    seconds: float = 0.0
    facts: Mapping[str, Any] = field(default_factory=dict)


class Delivery:
    """One node's way from the first question to its joining, or its refusal.

    `plan`: facts → the signed version, None where the node has it; may raise DckaError, which is the node's reason.
    `send`: publishes on `put/<node>`. `transfer`: a random
    number of 31 bits. `most`: bytes of a message that it takes. `join_s`: how long a trial may take.
    """

    def __init__(
        self,
        node: int,
        most: int,
        plan: Callable[[Mapping[str, Any]], Signed | None],
        send: Callable[[bytes], object],
        transfer: int,
        join_s: float,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self.told = Told(node)
        self._most = most
        self._plan = plan
        self._send = send
        self._join_s = join_s
        self._patience_s = patience_s
        self._transfer = transfer
        self._signed: Signed | None = None
        self._message = b""
        self._due = 0.0
        self._heard = 0.0
        self._began = 0.0
        self._want = -2
        self._next = 0
        self._damaged = 0
        self._asked = False
        self._said_start = False

    @property
    def over(self) -> bool:
        """Whether there is nothing more to be done."""
        return self.told.state in ENDS

    @property
    def active(self) -> bool:
        """Whether it has begun, and is not over."""
        return not self.over and self.told.state is not State.WAITING

    @property
    def tried(self) -> bool:
        """Whether the node was told to start the version."""
        return self._said_start

    @property
    def part(self) -> float:
        """How much of the version's bytes the node has, 0 … 1."""
        if self.told.state in (State.TRIAL, State.JOINED, State.CURRENT):
            return 1.0
        if self._signed is None or self._want < 0:
            return 0.0
        done = sum(map(len, self._signed.contents[: self._want])) + self._next
        return done / max(1, self._signed.size)

    def begin(self, now: float) -> None:
        """Ask the node what it is."""
        self._asked = True
        self._began = self._heard = now
        self.told.state = State.ASKING
        self._say(bytes([ASK]), now)

    def end(self, state: State, reason: str, now: float) -> None:
        """It is over, this way."""
        self.told.state, self.told.reason = state, reason
        self.told.seconds = now - self._began if self._asked else 0.0

    def look(self, now: float) -> None:
        """Send again what was not answered in time, or leave the node alone."""
        if not self.active:
            return
        if self.told.state is State.TRIAL:
            if now - self._heard > self._join_s:
                self.end(
                    State.FAILED,
                    f"it was restarted, and has not said within {self._join_s:.0f} s that it joined or went back",
                    now,
                )
            return
        if now - self._heard > self._patience_s:
            self.end(
                State.FAILED,
                self.told.reason or "it does not answer; the same call goes on where it was",
                now,
            )
        elif now >= self._due:
            self._due = now + RESEND_S
            self._send(self._message)

    def take_answer(self, answer: Mapping[str, Any], now: float) -> None:
        """What came on `got/<node>`; of another transfer's it is passed over."""
        if answer.get("transfer") != self._transfer or not self.active:
            return
        error = answer.get("error")
        if isinstance(error, str) and error:
            self._take_error(error, now)
            return
        self._heard, self.told.reason = now, ""
        if self.told.state is State.ASKING:
            facts = answer.get("facts")
            if isinstance(facts, Mapping):
                self._take_facts(facts, now)
        elif self.told.state is State.SENDING:
            self._take_want(answer, now)

    def take_version(self, said: Mapping[str, Any], now: float) -> None:
        """What the node says on `version/<node>`, of its own accord."""
        signed = self._signed
        if signed is None or self.told.state not in (State.SENDING, State.TRIAL):
            return
        counter = said.get("counter")
        if not isinstance(counter, int) or counter < signed.counter:
            return  # from before
        back = said.get("rolled_back")
        if said.get("version") == signed.version:
            self.told.state = State.TRIAL
            if said.get("state") == "joined":
                self.end(State.JOINED, "", now)
        elif isinstance(back, Mapping) and back.get("version") == signed.version:
            self.end(State.ROLLED_BACK, str(back.get("reason", ""))[:200], now)

    # ---- what comes of an answer ----

    def _take_error(self, error: str, now: float) -> None:
        word = error.partition(":")[0]
        if word == "busy":
            # It is in a run: asked again until that has ended, or our patience.
            self.told.reason = "it is in a run that has not ended"
            self._due = now + RESEND_S
        elif word == "damaged" and self.told.state is State.SENDING and self._damaged < MOST_DAMAGED:
            self._damaged += 1
            self._say(bytes([GO_ON]), now)
        elif self._said_start and word in ("trial", "same", "old"):
            # The word that it starts was lost: it has restarted, and its word on the outcome comes, or came.
            self.told.state, self._heard = State.TRIAL, now
        else:
            self.end(State.REFUSED, error, now)

    def _take_facts(self, facts: Mapping[str, Any], now: float) -> None:
        self.told.facts = facts
        self.told.before = str(facts.get("version", ""))
        signed = self._plan(facts)
        if self.over:
            return
        if signed is None:
            self.told.version = self.told.before
            self.end(State.CURRENT, "", now)
            return
        self._signed = signed
        self.told.version, self.told.files = signed.version, len(signed.paths)
        self.told.state = State.SENDING
        self._say_manifest(0, now)

    def _take_want(self, answer: Mapping[str, Any], now: float) -> None:
        signed = self._signed
        want, after = answer.get("want"), answer.get("next")
        if signed is None or type(want) is not int or type(after) is not int or after < 0:
            return
        if answer.get("started") is True:
            self.told.state = State.TRIAL
            return
        if want == -1:
            self._want = -1
            self._say_manifest(min(after, len(signed.manifest) - 1), now)
            return
        if not 0 <= want <= len(signed.contents) or (want, after) == (self._want, self._next):
            # The same is wanted as before: what was said is on its way, or lost, and said again in time. A node that
            # has looked for a copy in vain wants the same, and no step any more.
            if want != self._want or answer.get("step") or self._message[5:6] != bytes([GO_ON]):
                return
        elif want > self._want >= 0 and self._message[5:6] == bytes([GO_ON]):
            self.told.copied += want - self._want
        elif want > self._want >= 0:
            self.told.sent += want - self._want
        self._want, self._next = want, after
        if want == len(signed.contents):
            self._said_start = True
            self._say(bytes([START]), now)
        elif answer.get("step"):
            self._say(bytes([GO_ON]), now)
        else:
            self._say_piece(want, after, now)

    # ---- messages ----

    def _say(self, rest: bytes, now: float) -> None:
        head = bytes([1 << 4 | UPDATE]) + self._transfer.to_bytes(4, "little")
        self._message = head + rest
        self._due = now + RESEND_S
        self._send(self._message)

    def _say_manifest(self, offset: int, now: float) -> None:
        manifest = self._signed.manifest if self._signed else b""
        self._say_bytes(MANIFEST, len(manifest), offset, manifest, now)

    def _say_piece(self, number: int, offset: int, now: float) -> None:
        content = self._signed.contents[number] if self._signed else b""
        if offset < len(content):
            self.told.bytes += self._say_bytes(PIECE, number, offset, content, now)

    def _say_bytes(self, what: int, first: int, offset: int, content: bytes, now: float) -> int:
        out = bytearray([what])
        put_varint(out, first)
        put_varint(out, offset)
        room = self._most - _HEAD - varint_bytes(first) - varint_bytes(offset)
        piece = content[offset : offset + room]
        self._say(bytes(out) + piece, now)
        return len(piece)
