"""The bounded part of the search; `make verify` runs the whole."""

import random

import planted
import pytest
from fair import unfair_end
from networks import READINGS, search
from search import Bounds

pytestmark = pytest.mark.slow
# (shape, steps, power cuts, mints, root, whether nodes always speak in full): what is searched to the end.
BOUNDED = [
    ("line of 3", 3, 0, 1, 1, True),
    ("line of 3", 2, 1, 1, 2, True),
    ("line of 3", 2, 0, 2, 1, True),
    ("line of 3", 1, 1, 1, 1, True),
    ("triangle", 2, 0, 1, 1, True),
    ("triangle", 1, 1, 1, 1, True),
    ("triangle", 1, 0, 2, 1, True),
    ("star of 4", 1, 0, 1, 1, True),
    ("ring of 4", 1, 1, 0, 1, True),
    ("line of 4", 3, 0, 0, 1, False),
    ("line of 3", 2, 1, 0, 1, False),
    ("line of 3", 2, 0, 1, 1, False),
]


@pytest.mark.parametrize("shape, steps, crashes, mints, root, whole", BOUNDED)
def test_nothing_that_can_happen_breaks_a_law(shape, steps, crashes, mints, root, whole):
    looked = search(shape, steps, Bounds(crashes, mints), root, whole=whole)
    found = looked.run()
    assert found.violation is None
    assert found.finished and found.states > 10
    looked.machines.check_changes()
    chance = random.Random(1)
    for place in chance.sample(range(found.states), min(found.states, 60)):
        assert unfair_end(looked, looked.states[place]) == "", looked.way(place)


def test_two_runs_in_a_row():
    looked = search("line of 3", 1, Bounds(0, 1), runs=2)
    found = looked.run()
    assert found.violation is None and found.finished
    assert {kept.run for kept in looked.machines.commits} == {1, 2}
    for place in random.Random(2).sample(range(found.states), 60):
        assert unfair_end(looked, looked.states[place]) == "", looked.way(place)


# Where a node that lacks a rule is found out: (class, shape, steps, power cuts, mints, in full, what is said).
PLANTED = [
    ("NoQuorum", "line of 3", 1, 0, 1, True, "committed with 1 of 3"),
    ("SetsAreCounts", "triangle", 2, 1, 1, True, "nobody takes"),
    ("NoOverlapCheck", "triangle", 2, 1, 1, True, "nobody takes"),
    ("NoStartCheck", "line of 3", 3, 0, 3, True, "the sum over"),
    ("NoStepCheck", "line of 3", 2, 0, 1, True, "the sum over"),
    ("SaidBeforeFlash", "line of 3", 1, 0, 0, True, "not on its flash"),
    ("NeverOnFlash", "line of 3", 1, 0, 0, True, "not on its flash"),
    ("ForgivesTheMissing", "line of 3", 2, 0, 1, True, "ever missing"),
    ("BareEpochs", "line of 3", 1, 0, 1, True, "commits in epoch"),
    ("StaysRoot", "triangle", 1, 0, 2, True, "commits in epoch"),
    ("Relabels", "line of 3", 2, 0, 1, True, "commits in epoch"),
    ("StepBeforeEpochs", "line of 3", 2, 0, 2, True, "given up"),
]


@pytest.mark.parametrize("name, shape, steps, crashes, mints, whole, what", PLANTED)
def test_a_node_that_lacks_a_rule_is_found_out(name, shape, steps, crashes, mints, whole, what):
    found = search(shape, steps, Bounds(crashes, mints), weak=getattr(planted, name)(), whole=whole).run()
    assert found.violation is not None and what in found.violation[0]
    assert found.violation[1]


def test_differences_to_one_of_two_sums_are_found_out():
    """Node 2 says its own sums, with which the root goes on, and then those with node 3's. In the next step a reading
    of node 3 goes to the other cluster: added to the wrong sums, that is a wrong sum. Node 2's readings are such that
    the wrong sum could be theirs: three, far enough apart that 11 more of one and less of the other changes no bound.
    """
    readings = READINGS | {2: [22, 24, 80], 3: [11, 89]}
    for weak in (None, planted.ForgetsOtherSets()):
        found = search("line of 3", 2, Bounds(0, 1), weak=weak, whole=False, readings=readings).run()
        if weak is None:
            assert found.violation is None and found.finished
        else:
            assert found.violation is not None and "the sum over" in found.violation[0]


def test_the_states_of_a_small_network_by_hand():
    """Two nodes, one step, no faults but time.

    Nobody has heard anything: each may look for commits or not, which makes four. The root has committed: the other
    looks or not. Both have it.
    """
    looked = search("pair", 1, Bounds(0, 0))
    assert looked.run().states == 4 + 2 + 1
