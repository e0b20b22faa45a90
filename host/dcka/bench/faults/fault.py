"""A fault: a network that is set up for it, what is done to it in mid-run, and what has to come of it.

The course is the same for all. The nodes get their readings; a run begins; after its third outer step the fault is
injected; the run ends, or does not, and then runs follow until one is whole again. No result may ever be wrong; what
else is expected of the run in which it happened, the fault says.
"""

import contextlib
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from dcka.bench.live import Live, Ran, Say, Work, spread
from dcka.errors import DckaError

AT_STEP = 3
RUN_S = 120.0
RECOVERY_S = 90.0
"""Within which a run has to be whole again: a node tells of a second one of its id for half a minute after its end."""
READY_S = 30.0
OUTAGE = ("PASS", "PARTIAL")
"""Nodes come back from an outage one after the other, and who comes late may be gone on without, by name."""
PATIENCE_MS = 500
"""As on radios: a hop takes far less here."""


@dataclass(frozen=True)
class Settings:
    """`pause_s`: how long a broker is frozen, or silent. `messages`: of the fuzz. `nodes`: of each network."""

    engine: str = "mosquitto"
    nodes: int = 20
    pause_s: float = 30.0
    messages: int = 100_000
    seed: int = 1


@dataclass(eq=False)
class Scene:
    """A network that is up. `things`: what the fault's setup needs again. `notes`: what was seen, for `observed`."""

    live: Live
    settings: Settings
    say: Say
    things: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    over_at: float | None = None
    _due: list[tuple[float, Callable[[], None]]] = field(default_factory=list)

    def later(self, seconds: float, action: Callable[[], None]) -> None:
        """Do it after so long, whatever the run does."""
        self._due.append((time.monotonic() + seconds, action))

    def over(self) -> None:
        """The fault has ended: what follows is recovery."""
        self.over_at = time.monotonic()

    def require(self, holds: bool, sentence: str) -> None:
        """Note what was seen; where it does not hold, the fault was not stood."""
        (self.notes if holds else self.failed).append(sentence)

    def turn(self) -> None:
        """Do what is due."""
        now = time.monotonic()
        due = [action for at, action in self._due if at <= now]
        self._due = [(at, action) for at, action in self._due if at > now]
        for action in due:
            action()

    def finish(self) -> None:
        """Do all that is still to be done, each at its time."""
        while self._due:
            time.sleep(max(0.0, min(at for at, _ in self._due) - time.monotonic()))
            self.turn()


@dataclass(frozen=True)
class Fault:
    """`expected`: a sentence. `setup`: brings a network up. `inject`: called in mid-run; it calls `scene.over` when the
    fault has ended. `stands`: how the run in which it happens may end: "PASS" alone, or "PARTIAL" too, or "no result".
    `ended`: called when the run in which it happened has ended; `after`: when all is over.
    """

    name: str
    expected: str
    setup: Callable[[Settings, Say], AbstractContextManager[Scene]]
    inject: Callable[[Scene], None]
    stands: tuple[str, ...] = ("PASS",)
    ended: Callable[[Scene], None] = lambda scene: None
    after: Callable[[Scene], None] = lambda scene: None
    run_s: Callable[[Settings], float] = lambda settings: RUN_S


def network(settings: Settings, nodes: int | None = None, **run: object) -> Work:
    """Nine Gaussians on a random graph: some 25 outer steps."""
    options: dict[str, object] = {"seed": 19, "patience_ms": PATIENCE_MS, **run}
    return spread(nodes or settings.nodes, readings=900, run=options)


def play(fault: Fault, settings: Settings, say: Say) -> dict[str, Any]:
    """The fault's row. A DckaError on the way is a fault that was not stood."""
    began = time.monotonic()
    row: dict[str, Any] = {
        "fault": fault.name,
        "expected": fault.expected,
        "nodes_lost": 0,
        "results_wrong": 0,
    }
    row |= {"observed": "", "recovered_s": None, "ok": False}
    try:
        with fault.setup(settings, say) as scene:
            row |= _played(fault, scene)
    except DckaError as error:
        row["observed"] = f"{type(error).__name__}: {error}"
    return {**row, "seconds": time.monotonic() - began}


def _played(fault: Fault, scene: Scene) -> dict[str, Any]:
    scene.live.give()
    begun = time.monotonic()
    ran = _run_with(fault, scene)
    fault.ended(scene)
    if scene.over_at is None:
        scene.over()
    over_at = scene.over_at or begun
    ended = ran.verdict.word if ran.outcome.finished else "no result"
    told = f"the run: {ended}" + (f", missing {list(ran.missing)}" if ran.missing else "")
    if not ran.outcome.finished:
        told += f" ({ran.outcome.reason})"
    scene.require(ended in fault.stands, told)
    wrong, recovered = ran.wrong, None
    if ran.identical:
        recovered = max(0.0, time.monotonic() - over_at)
    # One more in any case: what the fault has left behind may show only then.
    until, whole = time.monotonic() + RECOVERY_S, False
    while not whole and time.monotonic() < until:
        again = _again(scene)
        wrong += 0 if again is None else again.wrong
        whole = again is not None and again.identical
    if whole and recovered is None:
        recovered = max(0.0, time.monotonic() - over_at)
    fault.after(scene)
    lost = _lost(scene)
    scene.require(lost == 0, f"{lost} nodes lost")
    scene.require(
        whole, "afterwards a run is whole" if whole else f"no run is whole within {RECOVERY_S:g} s afterwards"
    )
    observed = "; ".join([*(f"NOT AS EXPECTED: {sentence}" for sentence in scene.failed), *scene.notes])
    ok = not scene.failed and wrong == 0
    return {
        "observed": observed,
        "nodes_lost": lost,
        "results_wrong": wrong,
        "recovered_s": recovered,
        "ok": ok,
    }


def _run_with(fault: Fault, scene: Scene) -> Ran:
    injected = False

    def on_event(event: str, data: dict[str, Any]) -> None:
        nonlocal injected
        if not injected and event == "step" and data["step"] + 1 >= AT_STEP:
            injected = True
            scene.say(f"{fault.name}: injected after step {data['step'] + 1}")
            fault.inject(scene)
        scene.turn()

    try:
        ran = scene.live.run(fault.run_s(scene.settings), on_event, READY_S)
    finally:
        scene.finish()
    scene.require(injected, "injected in mid-run" if injected else "the run had ended before the fault")
    return ran


def _again(scene: Scene) -> Ran | None:
    """A run more; None where it could not begin."""
    try:
        return scene.live.run(60.0, ready_s=READY_S)
    except DckaError as error:
        scene.say(f"not yet: {error}")
        time.sleep(2.0)
        return None


def _lost(scene: Scene) -> int:
    """Nodes that have crashed, or do not answer any more."""
    from dcka.mqtt.inbox import Inbox
    from dcka.mqtt.readiness import NotReady, await_online

    inbox = Inbox(scene.live.connection, {})
    absent: tuple[int, ...] = ()
    with contextlib.suppress(DckaError):
        scene.live.connection.subscribe("status/+")
        try:
            await_online(inbox, scene.live.work.config.ids, READY_S)
        except NotReady as error:
            absent = error.nodes
    crashed = {failure.node for failure in scene.live.nodes.failures()}
    return len(crashed | set(absent))
