"""A nap: leave taken, the radio off, asleep for as long as was asked, the watchdog fed."""

import errno
import sys
from types import SimpleNamespace

import pytest

from dcka_device.nap import nap


class Clock:
    """Goes on by itself where somebody waits."""

    def __init__(self):
        self.now = 1000

    def ticks_ms(self):
        return self.now

    def ticks_diff(self, end, start):
        return end - start

    def sleep_ms(self, wait_ms):
        self.now += wait_ms


class Connector:
    """comes: what is read next: a number of bytes, None where there is nothing yet, an OSError's number where < 0."""

    def __init__(self, done, comes):
        self.done = done
        self.comes = list(comes)

    def send(self, payload):
        self.done.append(bytes(payload))
        return len(payload)

    def recv_into(self, buffer, size):
        count = self.comes.pop(0) if self.comes else None
        if count is None:
            raise OSError(errno.EAGAIN, "again")
        if count < 0:
            raise OSError(-count, "gone")
        assert count <= size
        return count


def naps(monkeypatch, rest_ms, has_radio, comes, look_ms=30_000):
    done = []
    clock = Clock()

    def waits(ms):
        clock.now += ms
        done.append(("waits", ms))

    clock.sleep_ms = waits
    machine = SimpleNamespace(lightsleep=lambda ms: done.append(("light", ms)))
    monkeypatch.setitem(sys.modules, "machine", machine)
    link = SimpleNamespace(close=lambda: done.append("closed"), up=True)
    link.connector = None if comes is None else Connector(done, comes)
    radio = SimpleNamespace(off=lambda: done.append("off")) if has_radio else None
    guard = SimpleNamespace(alive=lambda online: done.append(("fed", online)) or look_ms)
    nap(rest_ms, link, radio, guard, clock)
    assert not link.up
    return done


@pytest.mark.parametrize("has_radio", [True, False])
@pytest.mark.parametrize("rest_ms", [1, 30_000, 65_000])
def test_what_is_done_in_which_order(monkeypatch, has_radio, rest_ms):
    done = naps(monkeypatch, rest_ms, has_radio, [70, 0])
    begun = [b"\xe0\x00", "closed"] + (["off"] if has_radio else [])
    assert done[: len(begun)] == begun
    slept = [one for one in done[len(begun) :] if one != ("fed", False)]
    assert {kind for kind, _ in slept} == {"light" if has_radio else "waits"}
    assert sum(ms for _, ms in slept) == rest_ms
    assert done.count(("fed", False)) == len(slept)
    # Well below the watchdog's two minutes.
    assert max(ms for _, ms in slept) <= 30_000


@pytest.mark.parametrize(
    ("comes", "waited"),
    [
        ([0], 0),
        ([128, 5, None, None, 40, 0], 2),
        ([None, -errno.ECONNRESET], 1),
        ([None] * 10_000, 200),
        (None, 0),
    ],
)
def test_the_socket_is_read_to_its_end_before_it_is_closed(monkeypatch, comes, waited):
    """Something unread would make a reset of the end, and the broker publish the will; and no broker is waited for
    for ever. What leave-taking takes is taken off the rest."""
    done = naps(monkeypatch, 5000, True, comes)
    before = done[: done.index("closed")]
    assert before == ([] if comes is None else [b"\xe0\x00"]) + [("waits", 1)] * waited
    assert sum(ms for kind, ms in (one for one in done if one[0] == "light")) == 5000 - waited


def test_who_wants_to_be_called_sooner_is(monkeypatch):
    done = naps(monkeypatch, 5000, True, [0], look_ms=700)
    slept = [ms for kind, ms in (one for one in done if one[0] == "light")]
    assert sum(slept) == 5000 and max(slept) == 700
    assert done.count(("fed", False)) == len(slept)
