"""Messages of QoS 0 past paho: most of what a run says.

paho reads a packet in three system calls and makes an object with a lock of each message. Here whole PUBLISH packets of
QoS 0 are taken from the socket as they lie in it, and written in one go; all else, and all of an encrypted connection,
stays paho's. MQTT 3.1.1, sections 2.2 and 3.3.
"""

import contextlib
import socket
from collections.abc import Callable
from typing import Any

_PUBLISH = 0x30
_RETAIN = 0x01
_PIECE = 1 << 16
_MOST_LENGTH_BYTES = 4
_MOST_TOPIC = 0xFFFF


class Lane:
    """One connection's. heard: called with (topic, payload, length of the packet, whether it is retained) of each.

    cut: the socket has taken a part of a packet; nobody may write before it has the rest.
    """

    def __init__(self, heard: Callable[[bytes, bytes, int, bool], None]) -> None:
        self._heard = heard
        self._peer: Any = None
        self._out = bytearray()
        self.cut = False
        # paho may have a part of a packet in hand: until it has told of a message, it reads alone.
        self._midway = False

    @property
    def open(self) -> bool:
        """Whether messages go through here."""
        return self._peer is not None

    @property
    def waiting(self) -> bool:
        """Whether something is not written yet."""
        return bool(self._out)

    def enter(self, peer: object) -> None:
        """A connection has come about. An encrypted one can't be looked into: it stays paho's."""
        self.leave()
        # The exact type: ssl's, and whatever else, are made of it.
        if type(peer) is socket.socket:
            self._peer = peer

    def leave(self) -> None:
        """It has ended; what was not written is lost with it."""
        self._peer = None
        self._midway = self.cut = False
        self._out.clear()

    def boundary(self) -> None:
        """paho has just told of a message: it has no part of a packet in hand."""
        self._midway = False

    def read(self) -> bool:
        """Take the messages that are next; whether paho has to read too: there is something else, or the end."""
        peer = self._peer
        if peer is None or self._midway:
            return True
        try:
            seen: bytes = peer.recv(_PIECE, socket.MSG_PEEK)
            end, whole = self._told(seen)
            left = end
            while left:
                left -= len(peer.recv(left))
        except OSError:
            return True  # it finds out what it is
        if end == len(seen) and seen:
            return False
        self._midway = not whole
        return True

    def write(self, topic: str, payload: bytes | bytearray | str, retain: bool) -> None:
        """Say so with the next `flush`. Raises ValueError for a topic of more than 65,535 bytes."""
        name = topic.encode()
        content = payload.encode() if isinstance(payload, str) else payload
        if len(name) > _MOST_TOPIC:
            raise ValueError(f"a topic of {len(name)} bytes")
        self._out.append(_PUBLISH | _RETAIN if retain else _PUBLISH)
        length = 2 + len(name) + len(content)
        while length > 0x7F:
            self._out.append(length & 0x7F | 0x80)
            length >>= 7
        self._out.append(length)
        self._out += len(name).to_bytes(2, "big")
        self._out += name
        self._out += content

    def flush(self) -> None:
        """Write what waits, as far as the socket takes it."""
        if self._peer is None or not self._out:
            return
        # After an error nothing more is taken: reading tells paho of it.
        with contextlib.suppress(OSError):
            sent = self._peer.send(self._out)
            del self._out[:sent]
            self.cut = bool(self._out)

    def _told(self, seen: bytes) -> tuple[int, bool]:
        """Tell of the whole messages in front; (where what is none of them begins, whether that is whole too)."""
        at = 0
        while at < len(seen):
            length, body = _remaining(seen, at + 1)
            end = body + length
            if not body or end > len(seen):
                return at, False
            topic_end = body + 2 + int.from_bytes(seen[body : body + 2], "big")
            if seen[at] | _RETAIN != _PUBLISH | _RETAIN or topic_end > end or length < 2:
                return at, True
            self._heard(seen[body + 2 : topic_end], seen[topic_end:end], end - at, bool(seen[at] & _RETAIN))
            at = end
        return at, True


def _remaining(seen: bytes, at: int) -> tuple[int, int]:
    """(a packet's remaining length, where that begins); (0, 0) where it is cut off, or none."""
    length = 0
    for place in range(_MOST_LENGTH_BYTES):
        if at + place >= len(seen):
            break
        digit = seen[at + place]
        length |= (digit & 0x7F) << 7 * place
        if digit < 0x80:
            return length, at + place + 1
    return 0, 0
