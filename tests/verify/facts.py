"""What the search is about: messages, commits, a node's flash, and what comes of an event."""

from typing import NamedTuple

from dcka_core.messages import Commit


class Message(NamedTuple):
    """What was said on x/0, commit or epoch, by whom; in which run, and of which step and epoch. to: whom sums are for.

    Commits are always whole, and carry boot 0; epochs carry boot and step 0: nobody makes a difference of these.
    """

    kind: str
    sender: int
    payload: bytes
    run: int
    step: int
    epoch: tuple[int, int, int]
    to: int


class Effect(NamedTuple):
    """One thing that a node did: `message`, or the file that it saved. kept: the commit, where it saved one."""

    message: Message | None
    name: str
    payload: bytes
    kept: "Kept | None"


class Kept(NamedTuple):
    """What a commit says, but for who says it."""

    run: int
    epoch: tuple[int, int, int]
    step: int
    flags: int
    contributors: int
    missing: int
    centres: tuple[int, ...]
    counts: tuple[int, ...]
    ssd: int


class Flash(NamedTuple):
    """boot: the count that the next boot has raised."""

    boot: int
    memory: str
    commit: bytes


class Outcome(NamedTuple):
    """What came of an event. minted: whether the node is root of an epoch that it was not in before."""

    state: int
    effects: tuple[Effect, ...]
    minted: bool


def kept_of(commit: Commit, run: int) -> Kept:
    return Kept(
        run,
        commit.epoch,
        commit.step,
        commit.flags,
        commit.contributors,
        commit.missing,
        tuple(commit.centres),
        tuple(commit.counts),
        commit.ssd,
    )


def flash_after(flash: Flash, effect: Effect) -> Flash:
    """The flash with what an effect saved on it."""
    if effect.name == "run.json":
        return flash._replace(memory=str(effect.payload))
    if effect.name == "commit.bin":
        return flash._replace(commit=effect.payload)
    return flash
