"""The slots that travel: those of the designer's proven timetable, and the formulas of who can sleep when."""

from hypothesis import given, settings
from hypothesis import strategies as st
from schedule_graphs import connected

from dcka.emulation.network import MAX_DRIFT, drifting
from dcka.errors import UsageError
from dcka.schedule import Access, What
from dcka.schedule.tree_design import shallow
from dcka.schedule.tree_slots import tree_timetable
from dcka.topology import TopologyError
from dcka.topology.slot_rows import BOARD_ASSOCIATION_MS, board_slot_ms, slot_rows
from dcka_core.slots import guard_ms

LAW = settings(deadline=None, derandomize=True, max_examples=60)


def refused(function, *arguments):
    try:
        function(*arguments)
    except UsageError as error:
        return str(error)
    return ""


@LAW
@given(graph=connected(most=14))
def test_they_are_the_timetable_that_the_designer_proves(graph):
    parents = shallow(graph)
    made = slot_rows(parents)
    table = tree_timetable(graph.union(), parents, Access.ANY)
    assert made.period == 1 + len(table.slots)
    sends = {(number, send.sender, send.what) for number, slot in enumerate(table.slots, 1) for send in slot}
    rows = made.rows.items()
    said = {(row["up"], node, What.SUM) for node, row in rows if row["up"]}
    said |= {(row["down"], node, What.RESULT) for node, row in rows if row["down"]}
    assert said == sends
    for node, parent in parents.items():
        if parent:
            assert made.rows[node]["up"] in made.rows[parent]["hear"]
            assert made.rows[node]["get"] == made.rows[parent]["down"]
        assert (made.rows[node]["get"] == 0) == (parent == 0)
        assert len(made.rows[node]["hear"]) <= sum(1 for one in parents.values() if one == node)


def test_the_deepest_tree_that_two_clocks_can_keep():
    line = {node: node - 1 for node in range(1, 13)}
    assert slot_rows(line).period == 23
    message = refused(slot_rows, {node: node - 1 for node in range(1, 14)})
    assert "25 slots" in message and "24" in message and "slot_ms = 0" in message
    assert issubclass(TopologyError, UsageError)


def test_from_when_on_a_board_sleeps():
    """A star: a leaf works in slots 0, 1 and 2 of 3, and nobody ever can. A line of three: slots 1 and 4 of 5."""
    assert board_slot_ms(slot_rows({1: 0, 2: 1, 3: 1})) is None
    made = slot_rows({1: 0, 2: 1, 3: 2})
    slot_ms = board_slot_ms(made)
    assert made.rows[3] == {"up": 1, "get": 4, "down": 0, "hear": []}
    # The gap's end is the guard's beginning.
    for length, sleeps in ((slot_ms, True), (slot_ms - 2, False)):
        gap_ms = 2 * length - guard_ms(4 * length, length)
        assert (gap_ms >= 5 * BOARD_ASSOCIATION_MS) == sleeps, (length, gap_ms)


def test_guards_of_a_period():
    made = slot_rows({1: 0, 2: 1, 3: 2})
    assert made.guards(60) == (15, 15 + 5 * 60 // 24)


@given(share=st.floats(1e-4, MAX_DRIFT), seed=st.integers(0, 100), count=st.integers(2, 30))
@LAW
def test_clocks_that_drift(share, seed, count):
    clocks = drifting(range(1, count + 1), share, seed)
    most = round(share * 1_000_000)
    assert clocks == drifting(range(count, 0, -1), share, seed)
    assert set(clocks) == set(range(1, count + 1))
    assert (clocks[1], clocks[2]) == (most, -most)
    assert all(abs(ppm) <= most for ppm in clocks.values())


def test_a_drift_beyond_the_guards_is_refused():
    assert drifting([1, 2], 0) == {}
    for share in (0.021, 2, -1):
        assert "it must be 0 to 0.02" in refused(drifting, [1, 2], share)
