"""Between two slots: off the air, and asleep."""

import errno

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dcka_device.connector import Connector
    from dcka_device.guard import Guard
    from dcka_device.link import Link
    from dcka_device.wifi import Radio

# How long the broker may take to close the connection: several times what a good-bye is on its way.
_GOODBYE_MS = 200
_DISCONNECT = b"\xe0\x00"


def nap(rest_ms: int, link: "Link", radio: "Radio | None", guard: "Guard | None", time: "Any") -> None:
    """Take leave of the broker, and come back `rest_ms` from now; the link then connects by itself.

    All that was to be said has been sent. With a radio, it is switched off and the chip sleeps lightly: memory stays.
    Without, this only waits.
    """
    begun = time.ticks_ms()
    if link.up and link.connector:
        take_leave(link.connector, time)
    link.close()
    link.up = False
    wait = time.sleep_ms
    if radio:
        from machine import lightsleep

        radio.off()
        wait = lightsleep
    rest_ms -= time.ticks_diff(time.ticks_ms(), begun)
    while rest_ms > 0:
        piece = rest_ms
        if guard:
            begun = time.ticks_ms()
            piece = min(piece, guard.alive(False))
            rest_ms -= time.ticks_diff(time.ticks_ms(), begun)
        wait(max(0, min(piece, rest_ms)))
        rest_ms -= piece


def take_leave(connector: "Connector", time: "Any") -> None:
    """Say good-bye, and read on until the broker has closed the connection, or has had time for it.

    Where a socket is closed with something unread in it, the other end sees a reset, throws away what came before it,
    the good-bye too, and publishes the will.
    """
    room = memoryview(bytearray(128))
    try:
        connector.send(_DISCONNECT)
    except OSError:  # it is closed already
        return
    begun = time.ticks_ms()
    while time.ticks_diff(time.ticks_ms(), begun) < _GOODBYE_MS:
        try:
            while connector.recv_into(room, len(room)):
                pass
            return
        except OSError as error:
            if error.errno != errno.EAGAIN:
                return
        time.sleep_ms(1)
