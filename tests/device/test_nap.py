"""A nap: leave taken, the radio off, asleep for as long as was asked, the watchdog fed."""

import sys
from types import SimpleNamespace

import pytest

from dcka_device.nap import nap


@pytest.mark.parametrize("has_radio", [True, False])
@pytest.mark.parametrize("rest_ms", [1, 30_000, 65_000])
def test_what_is_done_in_which_order(monkeypatch, has_radio, rest_ms):
    done = []
    monkeypatch.setitem(
        sys.modules, "machine", SimpleNamespace(lightsleep=lambda ms: done.append(("light", ms)))
    )
    link = SimpleNamespace(close=lambda: done.append("good-bye"), up=True)
    radio = SimpleNamespace(off=lambda: done.append("off")) if has_radio else None
    guard = SimpleNamespace(alive=lambda online: done.append(("fed", online)))
    nap(rest_ms, link, radio, guard, SimpleNamespace(sleep_ms=lambda ms: done.append(("waits", ms))))
    assert not link.up
    begun = ["good-bye", "off"] if has_radio else ["good-bye"]
    assert done[: len(begun)] == begun
    slept = [one for one in done[len(begun) :] if one != ("fed", False)]
    assert {kind for kind, _ in slept} == {"light" if has_radio else "waits"}
    assert sum(ms for _, ms in slept) == rest_ms
    assert done.count(("fed", False)) == len(slept)
    # Well below the watchdog's two minutes.
    assert max(ms for _, ms in slept) <= 30_000
