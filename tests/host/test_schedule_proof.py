"""The proof of a timetable: it passes what is right, and every planted fault is caught, with who lacks what."""

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schedule_graphs import connected

from dcka.schedule import (
    Access,
    Algorithm,
    ScheduleError,
    Send,
    Timetable,
    What,
    design_gossip,
    design_tree,
    prove,
)
from dcka.schedule.gossip import prove_strongly_connected
from dcka.schedule.pairs import pairs_timetable
from dcka.topology import Shape, named

LAW = settings(deadline=None, derandomize=True, max_examples=40)

LINE = {1: (2,), 2: (1, 3), 3: (2,)}


def up(sender, parent):
    return (Send(sender, (parent,), What.SUM),)


def down(sender, *children):
    return (Send(sender, children, What.RESULT),)


def line(*slots, access=Access.TWO_HOP):
    """A timetable on 1-2-3 with the root 2."""
    return Timetable((1, 2, 3), slots, access, frozenset({2}), LINE)


def without(timetable, place):
    """The timetable without its broadcast number `place`."""
    every = [(number, send) for number, slot in enumerate(timetable.slots) for send in slot]
    number, lost = every[place % len(every)]
    slots = list(timetable.slots)
    slots[number] = tuple(send for send in slots[number] if send is not lost)
    return dataclasses.replace(timetable, slots=tuple(slots))


def test_sums_up_and_the_result_down():
    prove(line(up(1, 2), up(3, 2), down(2, 1, 3)))


@pytest.mark.parametrize(
    ("timetable", "words"),
    [
        (line(up(1, 2), down(2, 1, 3)), r"node 1 ends without the sums of \{3\}"),
        (line(up(1, 2), up(3, 2), down(2, 1)), r"node 3 ends without the sums of \{1, 2\}"),
        (
            line(up(1, 2), up(3, 2), up(1, 2), down(2, 1, 3)),
            r"node 1 ends with the sums of \{1\} more than once",
        ),
        (line(down(2, 1, 3), up(1, 2), up(3, 2)), r"node 1 ends without the sums of \{1, 3\}"),
        (line(up(1, 2), up(3, 2), down(1, 2)), "slot 2: node 1 passes on a result that it has not heard yet"),
        (line(up(1, 3)), "slot 0: node 1 sends to node 3, which is out of its reach"),
        (line(up(1, 1)), "slot 0: node 1 sends to itself"),
        (line(up(1, 9)), "slot 0: node 1: there is no node 9"),
        (line(up(9, 1)), "slot 0: node 9: there is no node 9"),
        (line(down(2)), "slot 0: node 2 sends, and nobody is there to hear it"),
        (line(up(1, 2) + up(1, 2)), "slot 0: node 1 sends twice"),
        (line(up(1, 2) + up(3, 2)), "slot 0: nodes 1 and 3 both send, and are no more than two hops apart"),
        (line(up(1, 2) + up(2, 1)), "slot 0: nodes 1 and 2 both send"),
        (line(up(1, 2) + up(3, 2), access=Access.ONE), "slot 0: nodes 1 and 3 both send, and one may"),
        (
            line(up(1, 2) + up(3, 2), access=Access.PAIRS),
            "slot 0: node 2 is to hear 2 nodes, and may hear one",
        ),
        (line((Send(1, (2,), What.SHARE),)), "slot 0: node 1 sends a share"),
    ],
)
def test_what_is_wrong_is_said(timetable, words):
    with pytest.raises(ScheduleError, match=words):
        prove(timetable)


def test_all_may_send_at_once_where_an_access_point_keeps_them_apart():
    prove(line(up(1, 2) + up(3, 2), down(2, 1, 3), access=Access.ANY))


def test_in_a_slot_everyone_sends_what_it_held_when_the_slot_began():
    swap = (Send(1, (2,), What.SUM), Send(2, (1,), What.SUM))
    prove(Timetable((1, 2), (swap,), Access.PAIRS, frozenset(), None))
    relayed = (Send(1, (2,), What.SUM), Send(2, (3,), What.SUM), Send(3, (1,), What.SUM))
    with pytest.raises(ScheduleError, match=r"node 1 ends without the sums of \{2\}"):
        prove(Timetable((1, 2, 3), (relayed,), Access.PAIRS, frozenset(), None))


@LAW
@given(connected(most=8), st.integers(0), st.sampled_from(["latency", "energy"]))
def test_a_lost_broadcast_of_a_tree_is_caught(graph, place, prefer):
    timetable = design_tree(graph, prefer).timetable
    if timetable.slots:
        with pytest.raises(ScheduleError):
            prove(without(timetable, place))


@LAW
@given(connected(), st.integers(0))
def test_a_hearer_asleep_is_caught(graph, place):
    timetable = design_tree(graph).timetable
    every = [(slot, send) for slot in timetable.slots for send in slot if len(send.hearers) > 1]
    if not every:
        return
    slot, send = every[place % len(every)]
    deaf = dataclasses.replace(send, hearers=send.hearers[1:])
    slots = tuple(
        tuple(deaf if one is send else one for one in other) if other is slot else other
        for other in timetable.slots
    )
    with pytest.raises(ScheduleError):
        prove(dataclasses.replace(timetable, slots=slots))


@LAW
@given(connected(), st.integers(0))
def test_a_sum_that_is_sent_again_is_counted_twice_and_caught(graph, place):
    timetable = design_tree(graph).timetable
    sums = [send for slot in timetable.slots for send in slot if send.what is What.SUM]
    if sums:
        again = (sums[place % len(sums)],)
        with pytest.raises(ScheduleError, match="more than once"):
            prove(dataclasses.replace(timetable, slots=(again, *timetable.slots)))


@LAW
@given(st.integers(2, 64), st.sampled_from(Algorithm), st.integers(0))
def test_a_lost_broadcast_of_pairs_is_caught(nodes, algorithm, place):
    with pytest.raises(ScheduleError):
        prove(without(pairs_timetable(range(1, nodes + 1), algorithm), place))


def test_gossip_in_one_direction_is_not_strongly_connected():
    timetable = design_gossip(named(range(1, 6), Shape("line"))).timetable
    prove_strongly_connected(timetable)
    for sender, words in ((5, "node 1 never hears of node 5"), (1, "node 2 never hears of node 1")):
        mute = tuple(tuple(send for send in slot if send.sender != sender) for slot in timetable.slots)
        with pytest.raises(ScheduleError, match=words):
            prove_strongly_connected(dataclasses.replace(timetable, slots=mute))
    deaf = tuple(
        tuple(
            dataclasses.replace(send, hearers=tuple(node for node in send.hearers if node != 5))
            for send in slot
        )
        for slot in timetable.slots
    )
    with pytest.raises(ScheduleError, match="node 5 never hears of node 1"):
        prove_strongly_connected(dataclasses.replace(timetable, slots=deaf))
