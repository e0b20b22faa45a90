"""What a node carries over a deep sleep, in the RTC's memory: 2,048 bytes that a power cut empties.

One record, whole or worthless: it has a version and a CRC-32, and whoever finds anything else starts as after a power
cut. What may never be lost is on flash; what is here is dear, not needed: the time, the rota, readings since the last
sync. (The other user of this memory, dcka_device/wifi.py, has another mark.)
"""

from binascii import crc32
from struct import calcsize, pack, unpack_from

from dcka_core import clock, rota

_MAGIC = b"dckS"
_VERSION = 1
# Wakes in a row of which none came to its end; the battery; how long the sleep was to be; then clock, rota, a frame.
_HEAD = "<4sBBBi%di%diH" % (clock.CARRIED, rota.CARRIED)
_HEAD_BYTES = calcsize(_HEAD)
_CRC_BYTES = 4
_UNKNOWN = 255
# After so many wakes in a row that came to nothing, a node stops to sample between clusterings.
BAD_WAKES = 3


class Carried:
    """asked_ms: for how long the chip was asked to sleep; negative in a wake: -1 - the tick that the clock is of. bad:
    wakes in a row that have not come to their end: raised before a wake does anything, and 0 after it. battery: %, None
    where it is not known. clock, rota: what `carried` of these gave. frame: readings that are not on flash yet
    (`segments.Segments.waiting`).
    """

    def __init__(
        self,
        asked_ms: int,
        bad: int,
        battery: "int | None",
        clock: "list[int]",
        rota: "list[int]",
        frame: bytes = b"",
    ) -> None:
        self.asked_ms = asked_ms
        self.bad = bad
        self.battery = battery
        self.clock = clock
        self.rota = rota
        self.frame = frame

    def encode(self) -> bytes:
        """The record, at most 700 bytes."""
        numbers = self.clock + self.rota
        battery = _UNKNOWN if self.battery is None else self.battery
        size = len(self.frame)
        body = pack(_HEAD, _MAGIC, _VERSION, min(self.bad, 255), battery, self.asked_ms, *numbers, size)
        body += self.frame
        return body + pack("<I", crc32(body))


def read(memory: bytes) -> "Carried | None":
    """What the RTC's memory holds; None for whatever is not exactly what `encode` gives."""
    if len(memory) < _HEAD_BYTES + _CRC_BYTES or memory[:5] != _MAGIC + bytes((_VERSION,)):
        return None
    body = memory[:-_CRC_BYTES]
    if pack("<I", crc32(body)) != memory[-_CRC_BYTES:]:
        return None
    told = unpack_from(_HEAD, body, 0)
    battery = None if told[3] == _UNKNOWN else told[3]
    numbers = list(told[5:-1])
    if len(body) != _HEAD_BYTES + told[-1]:
        return None
    first, then = numbers[: clock.CARRIED], numbers[clock.CARRIED :]
    return Carried(told[4], told[2], battery, first, then, bytes(body[_HEAD_BYTES:]))
