"""Which states of a node are the same: whatever only counts, tells, or says when, is set back."""

from typing import Any

from facts import Flash

from dcka_core.messages import Commit
from dcka_core.tree_messages import Up

NOW = 1 << 20
LATER = NOW + (1 << 20)
NEVER = 1 << 60
# What all states share, or what follows from the rest.
SHARED = {
    "_load",
    "load",
    "_vitals",
    "points",
    "_run",
    "run",
    "_rows",
    "rows",
    "_out",
    "out",
    "_asked",
    "asked",
}
# What is looked at by itself.
INNER = {"session", "_epochs", "_node"}


def frozen(value: Any) -> Any:
    """A value that can be hashed and says the same."""
    if isinstance(value, dict):
        return tuple(sorted((key, frozen(item)) for key, item in value.items()))
    if isinstance(value, (list, tuple)):
        return tuple(frozen(item) for item in value)
    if isinstance(value, (Commit, Up)):
        return frozen(value.__dict__)
    return value


def copied(thing: Any) -> Any:
    """A new object of the same state; what is never changed in place is shared."""
    new = object.__new__(type(thing))
    for name, value in thing.__dict__.items():
        new.__dict__[name] = value.copy() if isinstance(value, (list, dict)) else value
    return new


def key_of(machine: Any, flash: Flash) -> Any:
    """What tells a state from others, after `set_back`."""
    session = machine.session
    parts = [_said_by(machine), _said_by(session), session._epochs and _said_by(session._epochs)]
    return (*parts, session.run.number, flash)


def _said_by(thing: Any) -> Any:
    return tuple(
        (name, frozen(value))
        for name, value in thing.__dict__.items()
        if name not in SHARED and name not in INNER
    )


def set_back(machine: Any) -> None:
    """Forget what has no part in what the node will do, or only says when."""
    machine.dropped = {}
    machine._heartbeat = None
    machine._began = 0
    del machine._asked[:]
    del machine._out[:]
    session = machine.session
    machine.ledger = session.ledger = [0] * 7
    machine._before = [0] * 7
    session.waiting = []
    session.stalled = False
    session.deadline = None if session.done else NOW
    session._farewells = 0
    session._answered_at = None
    # Floods are a matter of time.
    session.most = NEVER
    session._repeat_at = session.stall_at = NOW
    epochs = session._epochs
    if epochs is not None:
        epochs._told_at = None
        epochs._vain = 0
        epochs._tellings = min(epochs._tellings, 1)
        epochs._founded = min(epochs._founded, 2)
        if epochs._looking is not None:
            epochs._looking = NOW
        if not session.unheard:
            epochs._tellings = 0
        if epochs._highest <= max(session.epoch[0], session.held.epoch[0] if session.held else 0):
            epochs._highest = 0
        if session.root or session.parent:
            _drop_idle_epochs(session)
    session.children.sort()
    # A base is of the step before; what is older is never looked at again.
    for child in [child for child, up in session._latest.items() if up.step < session._step - 1]:
        del session._latest[child]
    if session._told is not None and session._told.step < session._step - 1:
        session._told = None
    if session._twice < session._step - 1:
        session._twice = -1


def forget_who_waits(session: Any) -> None:
    """Who a node's children are says no more than when it sends, where it may say its sums and its commit always."""
    session.children = []
    session.unheard = []
    session._told = None
    session._twice = -1
    session._sent_members = session._contributors()
    session._latest = {child: up for child, up in session._latest.items() if up.step == session._step}
    if session._epochs is not None:
        session._epochs._tellings = 0
        if session.root or session.parent:
            _drop_idle_epochs(session)


def _drop_idle_epochs(session: Any) -> None:
    """One that knows nothing yet is as good as none."""
    epochs = session._epochs
    if (epochs._highest, epochs._looking, epochs._founded) == (
        0,
        None,
        int(session.root),
    ) and not session.unheard:
        session._epochs = None
