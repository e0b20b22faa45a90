"""What changes the data on flash: a transfer, a survey that has ended. Loaded when one of them asks, then dropped."""

import gc
import os
import time

from dcka_core.actions import ADOPT, APPEND, MAKE, PUBLISH, UPDATE
from dcka_core.errors import CoreError, MessageError
from dcka_device.store import DATA_FILE, READINGS_FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dcka_core.node import Node
    from dcka_core.points import Points
    from dcka_core.survey_grid import SurveyGrid
    from dcka_device.store import Store

# ENOENT
_MISSING = 2
# Between two collections while code is loaded: see main.py.
_TIGHT_BYTES = 1024
# More than TCP takes to send one packet on any link that a node works with.
_LEAVE_MS = 300
# Aside for points of a survey; a transfer may be under way in the other.
_MADE = "points.new"


def perform(action: "Any", store: "Store", node: "Node", alive: "Callable[[], Any]", now: int) -> "list[Any]":
    """Do an APPEND, an ADOPT, a DROP or a MAKE; what the node then asks for.

    alive: called every now and then in what takes long.
    """
    if action[0] == UPDATE:
        return _updated(action[1], action[2], node, alive)
    if action[0] == MAKE:
        return _made(action[1], action[2], store, node, alive, now)
    if action[0] == ADOPT:
        return _adopted(action[1], action[2], store, node, now)
    try:
        if action[0] == APPEND:
            append(action[1], action[2], action[3], action[4])
        else:
            drop()
    except OSError as error:
        return node.data_failed("the data can't be stored: %s" % error, now)
    return []


def _updated(payload: bytes, intake: "Any", node: "Node", alive: "Callable[[], None]") -> "list[Any]":
    """A message of an update; where it ends with a restart, nothing after this runs."""
    if intake is None:
        # What was just given to the network has to leave the chip.
        time.sleep_ms(_LEAVE_MS)
        # The guard lets it pass: a soft reset, with what main.py names now.
        raise SystemExit
    # "…/status/<i>", of the will.
    topic = node.will()[0].split("/")
    topic[2] = "got"
    try:
        if intake.update is None:
            # As where code is loaded otherwise: what a load leaves behind would scatter it.
            gc.threshold(_TIGHT_BYTES)
            gc.collect()
            from dcka_device import updating

            intake.update = updating.Updating(alive)
        actions: list[Any] = intake.update.perform(payload, "/".join(topic))
    except MessageError as error:
        node.count(error.reason)
        return []
    except MemoryError:
        # What runs is more than what would run: it goes on without the update.
        intake.update = None
        gc.collect()
        refusal = '{"v":1,"transfer":%d,"want":-1,"next":0,"error":"memory: the heap has no room"}'
        actions = [(PUBLISH, "/".join(topic), refusal % int.from_bytes(payload[1:5], "little"), False)]
    return actions


def append(name: str, payload: bytes, offset: int, total: int) -> None:
    """Add to the file; begin it anew where `offset` is 0, in the place of what an earlier transfer has left.

    Raises OSError; before anything is written where `total` bytes have no room.
    """
    if not offset:
        _remove(name)
        _require_room(total)
    try:
        with open(name, "ab" if offset else "wb") as file:
            file.write(payload)
    except OSError:
        _remove(name)
        raise


def drop() -> None:
    """Remove data and readings."""
    for name in (DATA_FILE, READINGS_FILE, "data.new", _MADE):
        _remove(name)


def adopt(store: "Store", aside: str, name: str) -> "Points | None":
    """Put a data file in the place of the old one, which stays where the new one can't be read.

    Raises OSError and CoreError.
    """
    points = store.points(aside, name)
    os.rename(aside, name)
    return points


def _adopted(aside: str, name: str, store: "Store", node: "Node", now: int) -> "list[Any]":
    """Take the new data file; where it can't be read, the old one again."""
    if node.points:
        # A run that has ended still holds the points.
        node.points.blocks = []
    node.forget_data()
    gc.collect()
    try:
        points = adopt(store, aside, name)
    except (OSError, CoreError, MemoryError) as error:
        return node.data_failed("the data can't be stored: %s" % error, now) + _held(store, node, now)
    if points and name == READINGS_FILE:
        # Read again when a survey needs them: until then a small heap has no room for them, nor for two buffers.
        actions = node.readings_held(points.dataset, store.readings, now)
        points = None
        return actions + _held(store, node, now)
    return node.data_loaded(points, now) if points else []


def _held(store: "Store", node: "Node", now: int) -> "list[Any]":
    """The points that are there; where they can't be read, the node says so, and goes on without."""
    try:
        points = store.points()
    except (CoreError, MemoryError) as error:
        return node.data_failed("the data can't be read: %s" % error, now)
    return node.data_loaded(points, now) if points else []


def make(
    store: "Store", grid: "SurveyGrid", readings: "Points | None", alive: "Callable[[], Any]"
) -> "Points | None":
    """Quantise the readings into the data file; the old one stays where that fails.

    readings: lose their blocks; read anew where they are None. Raises OSError and CoreError.
    """
    readings = readings or store.readings()
    if readings is None:
        raise OSError("no %s" % READINGS_FILE)
    _remove(_MADE)
    _require_room(2 * readings.n * readings.count)
    with open(_MADE, "wb") as file:
        for piece in store.load("survey_points").data_file(readings, grid):
            file.write(piece)
            alive()
    readings.blocks = []
    return adopt(store, _MADE, DATA_FILE)


def _made(
    grid: "SurveyGrid",
    readings: "Points | None",
    store: "Store",
    node: "Node",
    alive: "Callable[[], Any]",
    now: int,
) -> "list[Any]":
    """Make the points of a survey with the memory of the old ones, which are taken again where it fails."""
    node.forget_data()
    gc.collect()
    try:
        points = make(store, grid, readings, alive)
    except (OSError, CoreError, MemoryError) as error:
        return _held(store, node, now) + node.data_failed("the points can't be made: %s" % error, now)
    return node.points_made(points, grid.told(), now) if points else []


def _remove(name: str) -> None:
    try:
        os.remove(name)
    except OSError as error:
        if error.errno != _MISSING:
            raise


def _require_room(size: int) -> None:
    block, blocks, free = os.statvfs(".")[1:4]
    if free > blocks:
        # LittleFS counts blocks that files share more than once: on a full flash it is below 0, unsigned.
        free = 0
    # Each block of a file has some bytes of pointers; a name and the files that every run writes take a few.
    need = size // (block - 8) + 6
    if need > free:
        raise OSError("no room: %d KB needed, %d KB free" % (need * block // 1024, free * block // 1024))
