"""What a timetable costs: who is awake when, and the ledger of a day, by hand."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcka.energy import EnergyError, shortest_sleep_ms
from dcka.schedule import Access, Send, Timetable, Usage, What
from dcka.schedule.cost import costs, message_bytes, runs_a_day, sleeping

LAW = settings(deadline=None, derandomize=True, max_examples=60)
WORK = st.lists(st.booleans(), min_size=1, max_size=30)


def timetable(slots=10):
    """Two nodes; 1 sends to 2 in slot 0, 2 answers in slot 1; then nothing."""
    first, second = (Send(1, (2,), What.SUM),), (Send(2, (1,), What.RESULT),)
    rest = ((),) * (slots - 2)
    return Timetable((1, 2), (first, second, *rest), Access.TWO_HOP, frozenset({2}), {1: (2,), 2: (1,)})


def test_sleeping_by_hand():
    work = [True, False, False, True, False, False, False, False]
    assert sleeping(work, 1000, 3405) == ((False,) * 4 + (True,) * 4, 1)
    assert sleeping(work, 500, 3405) == ((False,) * 8, 0)
    assert sleeping(work, 2000, 3405) == ((False, True, True, False, True, True, True, True), 2)
    # Round the end: two idle slots there and two at the beginning are one stretch.
    assert sleeping([False, False, True, True, False, False], 1000, 3405) == (
        (True, True, False, False, True, True),
        1,
    )


@LAW
@given(WORK, st.floats(1, 10_000))
def test_nobody_sleeps_through_work_and_stretches_are_long_enough(work, slot_ms):
    asleep, naps = sleeping(work, slot_ms, 3405.0)
    assert not any(works and sleeps for works, sleeps in zip(work, asleep, strict=True))
    if any(work):
        assert naps == sum(asleep[place] and not asleep[place - 1] for place in range(len(work)))
        assert sum(asleep) * slot_ms >= naps * 3405.0
    else:
        assert all(asleep) and naps == 0


@LAW
@given(WORK, st.integers(0, 29))
def test_it_does_not_matter_where_a_step_begins(work, turn):
    turn %= len(work)
    asleep, naps = sleeping(work, 1000, 3405)
    assert sleeping(work[turn:] + work[:turn], 1000, 3405) == (asleep[turn:] + asleep[:turn], naps)


def test_the_ledger_of_a_day_by_hand():
    """12 steps of 10 slots, twice a day: 2 slots awake, 8 asleep, once a step."""
    usage = Usage(slot_ms=1000, steps=12, runs_a_day=2, k=9, dims=2, points=900)
    cost = costs(timetable(), usage)[1]
    assert (cost.busy, cost.awake) == (2, 2)
    ledger = cost.ledger
    assert (ledger.slots_awake, ledger.slot_ms) == (48, 1000)
    assert ledger.associations == 24 + 2
    assert ledger.light_sleep_ms == 24 * (8000 - 730)
    assert (ledger.broadcasts, ledger.deliveries) == (24, 24)
    assert ledger.payload_sent == 24 * message_bytes(What.SUM, usage) == 24 * 49
    assert ledger.computing_ms == pytest.approx(24 * (900 * 9 * 2 * 120e-6 + 2 * 5))


def test_a_repeated_timetable_costs_as_many_times_more():
    usage = Usage(runs_a_day=1, points=0)
    once, thrice = costs(timetable(), usage)[1].ledger, costs(timetable(), usage, 3)[1].ledger
    assert thrice.slots_awake == 3 * once.slots_awake
    assert thrice.associations - 1 == 3 * (once.associations - 1)
    assert thrice.broadcasts == 3 * once.broadcasts


def test_a_day_has_room_for_so_many_runs():
    usage = Usage(slot_ms=1000, steps=12)
    assert runs_a_day(10, usage) == 24
    assert runs_a_day(1000, usage) == pytest.approx(86_400 / 12_000.73)
    assert runs_a_day(10_000, usage) == pytest.approx(86_400 / 120_000.73)
    assert costs(timetable(), usage, 1000)[1].mah > 0
    with pytest.raises(EnergyError, match="take fewer runs a day, fewer steps or shorter slots"):
        costs(timetable(), Usage(runs_a_day=24), 1000)


def test_slots_as_long_as_a_nap_are_slept_through():
    usage = Usage(slot_ms=shortest_sleep_ms() + 1)
    assert costs(timetable(3), usage)[1].asleep == (False, False, True)
