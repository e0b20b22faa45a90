"""What has to hold of every run of `tree`, whatever happened in it, reckoned from what the nodes put on their flash.

A Scene's bus has to keep its `trace` from before the run.
"""

from plain_kmeans import flat, tuples
from plain_kmeans import step as kmeans_step

from dcka_core.actions import PUBLISH, SAVE
from dcka_core.errors import MessageError
from dcka_core.messages import CONVERGED, FINAL, is_change, peek_commit, read_commit
from dcka_core.record import read_run
from dcka_core.tree_messages import read_change


def kept(scene, number=1):
    """[(node, commit)]: what the nodes of this run put on flash, in the order in which they did."""
    run = read_run(scene.record(number))
    found = []
    for node, action in scene.bus.trace:
        if action[0] == SAVE and action[1] == "commit.bin":
            try:
                found.append((node, read_commit(action[2], run)))
            except MessageError as error:
                assert error.reason == "run", error.reason
    return found


def content(commit):
    """All of a commit but who says it."""
    return (
        commit.flags,
        commit.epoch,
        commit.contributors,
        commit.missing,
        commit.centres,
        commit.counts,
        commit.ssd,
    )


def size(members):
    """How many indices a set has."""
    return sum([members >> index & 1 for index in range(64)])


def said(scene, number=1):
    """[(node, commit, whether as a change)] of what was said on the commit topics of this run, changes put together."""
    run = read_run(scene.record(number))
    known = {}
    for _, commit in kept(scene, number):
        known[(commit.epoch, commit.step)] = commit
    found = []
    for node, action in scene.bus.trace:
        if action[0] == PUBLISH and action[1].startswith("dcka/t/commit/"):
            payload = bytes(action[2])
            assert action[1] == "dcka/t/commit/%d" % node and action[3] == (not is_change(payload)), node
            if not is_change(payload):
                found.append((node, read_commit(payload, run), False))
                continue
            bases = [known[place] for place in known if place[1] == peek_commit(payload)[2] - 1]
            for base in bases:
                try:
                    found.append((node, read_change(payload, run, base), True))
                    break
                except MessageError:
                    continue
            else:
                raise AssertionError("nobody ever held what this is a change of: %r" % payload)
    return found


def check_laws(scene, number=1):
    """Raises AssertionError where a law is broken; returns how many different commits there were.

    One commit for an epoch and a step. What it says is the sum over exactly its contributors, from what its root held
    before. More than half of the nodes are in it. Final where it has converged or is the last allowed. With nobody
    missing only if nobody was in any step before, and then it is the central result's step.
    """
    run = read_run(scene.record(number))
    everyone = (1 << len(run.members)) - 1
    central = scene.by_hand()
    made = {}
    last = {}
    for node, commit in kept(scene, number):
        place = (commit.epoch, commit.step)
        if place not in made:
            assert commit.epoch[1] == node, ("made by another than its root", node, place)
            _check_made(scene, run, last.get(node), commit)
            if commit.missing == 0:
                centres, counts, ssd = central[commit.step - 1]
                assert (commit.centres, commit.counts, commit.ssd) == (flat(centres), counts, ssd), place
            made[place] = commit
        assert content(commit) == content(made[place]), (node, place)
        last[node] = commit
        assert 2 * size(commit.contributors) > len(run.members), place
        assert commit.missing & everyone & ~commit.contributors == everyone & ~commit.contributors, place
    return len(made)


def _check_made(scene, run, before, commit):
    """What a root has made of what it held before, if anything."""
    place = (commit.epoch, commit.step)
    assert commit.step == (before.step if before else 0) + 1, place
    everyone = (1 << len(run.members)) - 1
    absent = everyone & ~commit.contributors
    assert commit.missing == absent | (before.missing if before else 0), place
    first = not before and not run.common
    starts, fallback = scene.starts()
    if before:
        fallback = tuples(before.centres, run.n)
        starts = [fallback] * len(run.members)
    shares = [
        (tuples(scene.data[run.members[index]], run.n), starts[index])
        for index in range(len(run.members))
        if commit.contributors >> index & 1
    ]
    centres, counts, ssd = kmeans_step(shares, fallback or starts[0])
    assert (commit.centres, commit.counts, commit.ssd) == (flat(centres), counts, ssd), place
    previous = None if first else flat(fallback or starts[0])
    converged = commit.centres == previous
    assert bool(commit.flags & CONVERGED) == converged, place
    assert bool(commit.flags & FINAL) == (converged or commit.step >= run.max_steps), place
