"""One node's file on its way: a chunk at a time, said again until it is answered (docs/protocol.md, section 6)."""

import secrets

from dcka.mqtt.channel import Channel
from dcka_core.bounds import varint_bytes
from dcka_core.codec import put_varint
from dcka_core.messages import CHUNK, REMOVE

RESEND_S = 1.0  # a board writes a chunk to its flash in some 10 ms, and seldom needs 100 ms
SWIFT_NODES = 100  # so many nodes answer within that time, whatever broker they are at
SENDINGS = 8  # of a chunk, before the node is given up
BEGINNINGS = 3  # of a whole file: a node that restarts, or whose flash errs, asks for it anew
SLOWEST_CHECK_BYTES_S = 50_000  # of a board that reads and checks its flash
ROOMLESS = "no room: "  # the first words of a node's refusal (firmware/dcka_device/store.py)

_HEAD = bytes([1 << 4 | CHUNK])
_REMOVE = bytes([1 << 4 | REMOVE])


class Delivery:
    """One node's file: what it has of it, and the one chunk that is in flight.

    `of`: so many nodes get theirs at the same time. `full`: the node has no room for it.
    `begun`: it has taken the first chunk, and the next waits for `go_on`.
    """

    def __init__(
        self, node: int, data: bytes, most: int, replace: bool, connection: Channel, of: int = 1
    ) -> None:
        self.node = node
        self.data = data
        self.transfer = -1
        self.acknowledged = 0
        self.chunks = self.resent = 0
        self.done = self.skipped = False
        self.error = ""
        self.full = False
        self._replace = self._removing = replace
        self._held = True
        self._connection = connection
        # A thousand nodes that share a broker answer a thousandth as fast.
        self._resend_s = RESEND_S * max(1.0, of / SWIFT_NODES)
        self._chunk = most - len(_HEAD) - 4 - 2 * varint_bytes(len(data))
        self._beginnings = 0
        self._sendings = 0
        self._due = 0.0
        self._online = True

    @property
    def begun(self) -> bool:
        """Whether the node has some of it."""
        return self.acknowledged > 0

    def go_on(self) -> None:
        """Everybody has begun."""
        if self._held:
            self._held = False
            if self.begun and not self.done and not self.error and self.acknowledged < len(self.data):
                self._next()

    def removed(self) -> None:
        """The node has removed its old data."""
        if self._removing and not self.error:
            self._removing = False
            self._next()

    def begin(self) -> None:
        """Start with the first chunk, under a number of its own."""
        self._beginnings += 1
        if self._beginnings > BEGINNINGS:
            self.error = (
                f"node {self.node}: its data did not arrive whole in {BEGINNINGS} attempts; look at its flash"
            )
            return
        self.transfer = secrets.randbits(31)
        self.acknowledged = 0
        self._next()

    def take(self, after: int, error: str, done: bool) -> None:
        """The node's answer: it waits for what follows `after`, has all, or refuses."""
        if self.done or self.error:
            return
        if error in ("restart", "damaged"):
            self.begin()
        elif error == "busy":
            self.error = busy_sentence(f"node {self.node}", 1)
        elif ROOMLESS in error:
            self.full = True
            self.error = self._roomless(error.partition(ROOMLESS)[2])
        elif error:
            self.error = f"node {self.node} refuses its data: {error}"
        elif done:
            self.done, self.acknowledged = True, len(self.data)
        elif after > self.acknowledged:
            # Only what is new is answered: an answer to each repetition would double all that follows.
            self.acknowledged = after
            if after < len(self.data) and not self._held:
                self._next()

    def look(self, online: bool) -> None:
        """Send again what was not answered in time, or give the node up."""
        self._online = online
        if self.done or self.error or self._connection.now() < self._due:
            return
        if self._held and self.begun:
            return
        if self._sendings >= SENDINGS + self._checking_s():
            self.error = self.unfinished()
        else:
            self.resent += 1
            self._send()

    def say_again(self) -> None:
        """The connection is back: what was under way is lost."""
        self._due = 0.0

    def unfinished(self) -> str:
        """The sentence for a node that has not got all."""
        if self.done:
            return f"node {self.node} has taken its data, but its status does not show them; try again"
        what = f"{self.acknowledged:,} of {len(self.data):,} bytes of its data have arrived"
        if not self._online:
            return f"node {self.node} went offline, {what}: is its heap large enough? Then try again"
        return f"node {self.node} does not answer any more, {what}; try again"

    def _checking_s(self) -> float:
        """For so long a node that has all may be silent: it checks the file."""
        return (
            len(self.data) / SLOWEST_CHECK_BYTES_S
            if self.acknowledged >= len(self.data) - self._chunk
            else 0.0
        )

    def _roomless(self, told: str) -> str:
        if self._replace:
            return f"node {self.node} has no room for its data, even without its old ones ({told}); nothing was written"
        return (
            f"node {self.node} has no room for the new data beside the old ({told}); nothing was written. With "
            "--replace the nodes remove their old data first, and have none until all of the new are there"
        )

    def _next(self) -> None:
        self._sendings = 0
        self._send()

    def _send(self) -> None:
        self._sendings += 1
        self._due = self._connection.now() + self._resend_s
        number = self.transfer.to_bytes(4, "little")
        if self._removing:
            self._connection.publish(f"put/{self.node}", _REMOVE + number)
            return
        message = bytearray(_HEAD + number)
        put_varint(message, len(self.data))
        # A node that has all and has not said that it is done is asked by repeating the last byte.
        offset = min(self.acknowledged, len(self.data) - 1)
        put_varint(message, offset)
        # While it is held, the node must not get all: it would adopt it.
        end = min(offset + self._chunk, len(self.data) - 1 if self._held else len(self.data))
        message += self.data[offset:end]
        self._connection.publish(f"put/{self.node}", bytes(message))
        self.chunks += 1


def busy_sentence(who: str, count: int) -> str:
    """The sentence for nodes that are in a run."""
    verb = "is" if count == 1 else "are"
    return f"{who} {verb} in a run that has not ended: wait for its end, or end it with dcka run --stop"
