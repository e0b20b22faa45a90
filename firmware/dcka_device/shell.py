"""Wires the node's core to its clock, flash, radio and link, and turns the crank."""

import gc
import os
import sys
import time

import dcka_core
import dcka_device
from dcka_core.actions import PUBLISH, SAVE, SLEEP, SUBSCRIBE, UNSUBSCRIBE
from dcka_core.errors import CoreError
from dcka_core.member import RUN_FILE
from dcka_core.node import Node
from dcka_core.parts import part
from dcka_core.session import COMMIT_FILE
from dcka_core.ticks import PERIOD, diff
from dcka_device.link import Link
from dcka_device.store import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dcka_device.guard import Guard

# Bytes between two collections: see main.py. A slot makes some 5 KB of waste; with little room it must not pile up.
_TIGHT_BYTES = 1024
_ROOMY_BYTES = 8192
# The longest sleep: watchdog and radio are looked after at least so often.
_LOOK_MS = 1000
# While there is no access point.
_RADIO_LOOK_MS = 100
# What is always there; the core's other modules come and go.
_RESIDENT = list(sys.modules)
# Places in the node's ledger (protocol, section 7).
_ASSOCIATIONS, _COMPUTING = 1, 6


def _now() -> int:
    # The unix port's ticks wrap later than a board's; cut to the core's period they mean the same.
    ticks: Any = time.ticks_ms()
    now: int = ticks & (PERIOD - 1)
    return now


def _jitter(bound: int) -> int:
    return int.from_bytes(os.urandom(2), "little") % bound


def _vitals() -> "tuple[int, int]":
    gc.collect()
    return gc.mem_alloc(), gc.mem_free()


def _runtime() -> str:
    version = sys.implementation.version
    return "micropython %d.%d.%d %s" % (version[0], version[1], version[2], sys.platform)


def _load(name: str) -> "Any":
    """A part of the core, in the place of the others: a small heap has no room for code that doesn't run."""
    for module in list(sys.modules):
        if module not in _RESIDENT and module.startswith("dcka_core."):
            del sys.modules[module]
            delattr(dcka_core, module[len("dcka_core.") :])
    if sys.modules.pop("dcka_device.storing", None):
        del dcka_device.storing
    gc.threshold(_TIGHT_BYTES)
    gc.collect()
    loaded = part(name)
    gc.threshold(_TIGHT_BYTES if gc.mem_free() < 2 * _ROOMY_BYTES else _ROOMY_BYTES)
    return loaded


class Shell:
    """One node, from its configuration to its loop. `guard`: on a board, what watches over the loop."""

    def __init__(self, settings: "dict[str, Any]", store: Store, guard: "Guard | None") -> None:
        self._store = store
        self._guard = guard
        boot = store.raise_boot()
        nonce = int.from_bytes(os.urandom(4), "little")
        self._node = Node(
            settings["network"],
            settings["node"],
            boot,
            nonce,
            _memory(store.read(RUN_FILE)),
            store.read(COMMIT_FILE),
            settings["max_message"],
            _runtime(),
            _vitals,
            _load,
        )
        self._link = Link(settings, self._node.will(), _now, _jitter)
        self._online = False
        # Of the computing time: what is no whole millisecond yet, in µs.
        self._busy = 0
        self._radio: Any = None
        self._console: Any = None
        if guard:
            self._console, self._radio = guard.parts(settings, boot, self._node, self._store, _now, _jitter)

    def start(self) -> None:
        """Load the data, and say what is to be listened to."""
        try:
            points = self._store.points()
        except (CoreError, MemoryError) as error:
            # More than this heap can hold is refused as what is damaged is: the board would start for ever.
            self._do(self._node.data_failed("the data can't be read: %s" % error, _now()))
        else:
            if points:
                self._feed(self._node.data_loaded, points)
        readings = self._store.readings_dataset()
        if readings:
            self._feed(self._node.readings_held, readings, self._store.readings)
        for topic in self._node.standing_topics():
            self._link.subscribe(topic)

    def turn(self) -> None:
        """One turn: what has come, what is due, then sleep until something is."""
        now = _now()
        rest = self._alive()
        if self._radio and not self._radio.tick(now):
            time.sleep_ms(_RADIO_LOOK_MS)
            return
        if self._radio:
            self._node.ledger[_ASSOCIATIONS] = self._radio.joined
        # Not before there is a network: the first attempt would fail, and the next waits its pause.
        self._link.open()
        messages = self._link.tick(now)
        if self._link.up != self._online:
            self._online = self._link.up
            if self._online:
                if not self._radio:
                    self._node.ledger[_ASSOCIATIONS] += 1
                self._feed(self._node.connected)
            else:
                self._node.disconnected()
        while self._link.oversized:
            self._link.oversized -= 1
            self._node.count("oversize")
        while messages:
            topic, payload = messages.pop(0)
            self._feed(self._node.receive, topic, payload)
        if self._console:
            self._console.look(self._link, self._node, _now())
        due = self._node.deadline()
        now = _now()
        if due is not None and diff(due, now) <= 0:
            self._feed(self._node.tick)
            due = self._node.deadline()
        self._link.flush(now)
        wait = rest if due is None else max(0, min(rest, diff(due, _now())))
        self._link.wait(now, wait)

    def _feed(self, event: "Callable[..., list[Any]]", *arguments: "Any") -> None:
        """Tell the core of an event, count for how long it computes, and do what it asks for."""
        began = time.ticks_us()
        actions = event(*arguments, _now())
        self._busy += time.ticks_diff(time.ticks_us(), began)
        self._node.ledger[_COMPUTING] += self._busy // 1000
        self._busy %= 1000
        self._do(actions)

    def _do(self, actions: "list[Any]") -> None:
        """Do what the core asks for, in its order: what is saved is on flash before what follows is sent."""
        while actions:
            # Taken out one by one and sent at once, so that what is done with leaves the heap.
            action = actions.pop(0)
            what = action[0]
            if what == PUBLISH:
                self._link.publish(action[1], action[2], action[3])
                self._link.flush(_now())
            elif what == SAVE:
                self._store.save(action[1], action[2])
            elif what == SUBSCRIBE:
                self._link.subscribe(action[1])
            elif what == UNSUBSCRIBE:
                self._link.unsubscribe(action[1])
            else:
                self._do(self._data(action))

    def _data(self, action: "Any") -> "list[Any]":
        """What slots, a transfer or a survey ask for."""
        if action[0] == SLEEP:
            from dcka_device.nap import nap

            self._online = False
            self._node.disconnected()
            nap(action[1], self._link, self._radio, self._guard, time)
            return []
        from dcka_device import storing

        return storing.perform(action, self._store, self._node, self._alive, _now())

    def _alive(self) -> int:
        return min(_LOOK_MS, self._guard.alive(self._online)) if self._guard else _LOOK_MS


def _memory(text: bytes) -> "dict[str, Any] | None":
    """What RUN_FILE held; a cut file can't be, but a foreign one can: then the node is new to every run."""
    from json import loads

    try:
        memory = loads(text)
    except ValueError:
        return None
    return memory if isinstance(memory, dict) else None


def main(folder: str = "", guard: "Guard | None" = None) -> None:
    """Run for ever; a fault ends it with its traceback. `folder`: where node.json is; `guard`: on a board."""
    from dcka_device import config

    settings = config.read(folder)
    guard = config.with_parts(settings, guard)
    del config, sys.modules["dcka_device.config"], dcka_device.config
    shell = Shell(settings, Store(_load), guard)
    shell.start()
    # Whatever ends this, no good-bye to the broker: its will is how the others learn of it.
    while True:
        shell.turn()
