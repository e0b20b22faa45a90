"""Between two slots: off the air, and asleep."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dcka_device.guard import Guard
    from dcka_device.link import Link
    from dcka_device.wifi import Radio

# The watchdog is fed at least so often, a quarter of what it waits.
_PIECE_MS = 30000


def nap(rest_ms: int, link: "Link", radio: "Radio | None", guard: "Guard | None", time: "Any") -> None:
    """Take leave of the broker, and come back after `rest_ms`; the link then connects by itself.

    All that was to be said has been sent. With a radio, it is switched off and the chip sleeps lightly: memory stays.
    Without, this only waits.
    """
    link.close()
    link.up = False
    wait = time.sleep_ms
    if radio:
        from machine import lightsleep

        radio.off()
        wait = lightsleep
    while rest_ms > 0:
        wait(min(_PIECE_MS, rest_ms))
        rest_ms -= _PIECE_MS
        if guard:
            guard.alive(False)
