"""Graphs and weights: closed forms, the paper's topologies, and laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference_data import laws, schedules

from dcka.reference import (
    check_jointly_connected,
    degrees,
    equal_shares,
    experiment1_phases,
    experiment2_phases,
    flood_slots,
    is_column_stochastic,
    is_doubly_stochastic,
    metropolis,
    neighbours,
    parts,
    predicted_rate,
    union,
)

FIVE = [1, 2, 3, 4, 5]
TWENTY = list(range(1, 21))


def test_experiment_1_is_connected_only_jointly() -> None:
    b, c = experiment1_phases()
    assert parts(b, FIVE) == [[1, 2, 3], [4, 5]]
    assert parts(c, FIVE) == [[1, 5], [2, 3, 4]]
    assert len(union([b, c])) == 7
    assert parts(union([b, c]), FIVE) == [FIVE]
    check_jointly_connected([b, c], FIVE)


def test_experiment_2_has_three_phases_of_ten_links_and_diameter_5() -> None:
    phases = experiment2_phases()
    assert [len(phase) for phase in phases] == [10, 10, 10]
    assert all(len(parts(phase, TWENTY)) > 1 for phase in phases)
    whole = union(phases)
    assert len(whole) == 30
    assert set(degrees(whole, TWENTY).values()) == {3}
    assert flood_slots([whole], TWENTY) == 5  # one slot a hop
    assert (20, 1) in phases[19 % 3]
    assert (1, 11) in phases[20 % 3]
    assert (10, 20) in phases[29 % 3]


def test_parts_are_named_where_a_schedule_is_not_connected() -> None:
    with pytest.raises(ValueError, match=r"3 parts \(1, 4; 2, 3; 5\)"):
        check_jointly_connected([[(1, 4)], [(3, 2), (1, 4)]], FIVE)


@pytest.mark.parametrize(
    ("links", "says"),
    [([(1, 1)], "to itself"), ([(1, 6)], "not one of"), ([(1, 2), (2, 1)], "there twice")],
)
def test_links_that_make_no_sense_are_refused(links: list[tuple[int, int]], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        degrees(links, FIVE)


def test_flooding_a_line_takes_a_slot_a_hop_and_waits_for_its_phase() -> None:
    line = [(i, i + 1) for i in range(1, 5)]
    assert flood_slots([line], FIVE) == 4
    assert flood_slots([[line[0]], [line[1]]], [1, 2, 3]) == 3  # 1 reaches 3 in slot 1, 3 reaches 1 in slot 2
    assert flood_slots([[]], [7]) == 0


def test_metropolis_on_a_star_by_hand() -> None:
    matrix = metropolis([(9, 4), (9, 5), (9, 6)], [4, 5, 6, 9])
    assert np.allclose(matrix[3], [0.25, 0.25, 0.25, 0.25])
    assert np.allclose(matrix[0], [0.75, 0, 0, 0.25])
    assert np.allclose(metropolis([(1, 2), (2, 3), (1, 3)], [1, 2, 3]), 1 / 3)


@laws
@given(st.data())
def test_metropolis_is_symmetric_and_doubly_stochastic(data: st.DataObject) -> None:
    ids = data.draw(st.lists(st.integers(1, 99), min_size=1, max_size=7, unique=True))
    phases = data.draw(schedules(ids))
    known = {link for phase in phases for link in phase} if data.draw(st.booleans()) else None
    for phase in phases:
        matrix = metropolis(phase, ids, known)
        assert is_doubly_stochastic(matrix)
        assert np.array_equal(matrix, matrix.T)
        assert (np.diag(matrix) > 0).all()
        heard = neighbours(phase, ids)
        for i, node in enumerate(ids):
            assert {ids[h] for h in np.flatnonzero(matrix[i]) if h != i} == set(heard[node])


@laws
@given(st.data())
def test_equal_shares_are_column_stochastic_on_any_digraph(data: st.DataObject) -> None:
    arcs = data.draw(
        st.lists(
            st.tuples(st.sampled_from(FIVE), st.sampled_from(FIVE)).filter(lambda a: a[0] != a[1]),
            unique=True,
        )
    )
    matrix = equal_shares(arcs, FIVE)
    assert is_column_stochastic(matrix)
    assert (np.diag(matrix) > 0).all()
    for sender, hearer in arcs:
        assert matrix[hearer - 1, sender - 1] == matrix[sender - 1, sender - 1]


def test_a_lone_arc_is_not_doubly_stochastic() -> None:
    matrix = equal_shares([(1, 2)], [1, 2])
    assert matrix.tolist() == [[0.5, 0.0], [0.5, 1.0]]
    assert not is_doubly_stochastic(matrix)
    for arcs, says in (([(1, 3)], "not one of"), ([(1, 2), (1, 2)], "there twice"), ([(1, 1)], "its sender")):
        with pytest.raises(ValueError, match=says):
            equal_shares(arcs, [1, 2])


def test_rates_in_closed_form() -> None:
    complete = metropolis([(1, 2), (1, 3), (2, 3)], [1, 2, 3])
    assert predicted_rate([complete]).per_slot == pytest.approx(0, abs=1e-12)
    ring = [(i, i % 8 + 1) for i in range(1, 9)]
    expected = 1 / 3 + 2 / 3 * np.cos(2 * np.pi / 8)  # circulant (1, 1, 1)/3
    rate = predicted_rate([metropolis(ring, range(1, 9))] * 3)
    assert rate.per_slot == pytest.approx(expected)
    assert rate.per_period == pytest.approx(expected**3)
    assert predicted_rate([metropolis([(1, 2)], [1, 2, 3])]).per_slot == pytest.approx(1)
    assert predicted_rate([np.ones((1, 1))]).per_period == 0
