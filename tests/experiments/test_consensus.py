"""Experiment 1's single run: the course of consensus, equality with CKA, and DKM's comparison."""

import numpy as np
import pytest

from dcka.datasets import gaussians
from dcka.experiments import consensus, dkm
from dcka.experiments.network import network
from dcka.reference import experiment1_phases, predicted_rate


@pytest.fixture(scope="module")
def net():
    return network(list(gaussians(25).values.values()))


def test_dcka_equals_cka_from_the_same_first_step(net):
    found = consensus.equality(net, 9, 3)
    assert found["dcka_equals_cka"] is True
    assert found["ssd_dcka"] == pytest.approx(found["ssd_cka"], rel=1e-9)
    assert found["largest_centre_difference"] < 1e-8
    assert np.array(found["centres"]).shape == (9, 2)


def test_a_difference_would_be_told(net, monkeypatch):
    real = consensus.full_run
    monkeypatch.setattr(consensus, "full_run", lambda net, k, seed: real(net, k, seed + 1))
    assert consensus.equality(net, 9, 3)["dcka_equals_cka"] is False


def test_the_mass_comes_to_the_mean_at_the_predicted_rate(net):
    found = consensus.mass_course(net, 9, 3, (0, 1))
    for step, rows in found["mass"].items():
        assert np.array(rows[-1]) == pytest.approx(found["limit"][step])
        assert found["limit"][step] == pytest.approx(np.mean(rows[0]))
    assert found["within_5_percent"]
    assert found["consensus_rate_predicted"] == pytest.approx(1 / 36)


def test_a_fitted_rate_by_hand():
    decay = 0.5 ** np.arange(60)
    x = np.stack([1 + decay, 1 - decay], axis=1)[..., None]
    assert consensus.fitted_rate(x, 1) == pytest.approx(0.5)
    assert consensus.fitted_rate(x, 2) == pytest.approx(0.25)
    with pytest.raises(ValueError, match="fewer than 3 periods"):
        consensus.fitted_rate(x[:4], 1)


def test_without_metropolis_weights_the_rate_is_another():
    assert predicted_rate([np.full((3, 3), 1 / 3)]).per_period == pytest.approx(0, abs=1e-12)


def test_curves_are_the_same_step_by_step(net):
    found = consensus.curves(net, (5,), 3)["5"]
    assert found["same"] and found["dcka"] == pytest.approx(found["cka_same_start"], rel=1e-9)
    assert found["cka"] == sorted(found["cka"], reverse=True)


@pytest.mark.parametrize(
    ("ssds", "place"),
    [([5, 3, 1.005, 1.0], 2), ([1.0, 1.0], 0), ([1.0, 2.0, 1.0], 2), ([2.0, 2.0], None)],
)
def test_the_stopping_rule_by_hand(ssds, place):
    assert dkm.settled(np.array(ssds), 1.0, 0.01) == place


def test_costs_by_hand(net, monkeypatch):
    monkeypatch.setattr(dkm, "ITERATIONS", 120)
    found = dkm.compare(net, 9, [5])
    (row,) = found["rows"]
    own = row["dkm"]["0.01"]
    assert own["link_slots"] == 7 * own["steps"]
    assert own["bytes"] == 2 * own["link_slots"] * 9 * 2 * 8
    ours = row["dcka"]["0.01"]
    links = sum((3, 4)[s % 2] for s in range(ours["slots"]))
    assert ours["link_slots"] == links * ours["steps"] and ours["passes"] == ours["steps"]
    assert ours["bytes"] == 2 * ours["link_slots"] * 9 * 3 * 8
    assert found["dkm"]["0.01"]["steps"] == [own["steps"]] * 3
    settled = [one["0.01"] for one in found["dcka_slots"].values() if one["0.01"]["settled"]]
    assert ours["link_slots"] == min(one["link_slots"][0] for one in settled)


def test_the_shortcut_is_the_full_simulation_and_another_start_is_not(net, monkeypatch):
    found = consensus.shortcut(net, 9, 3, "sorted", experiment1_phases(), 6)
    assert found["same"] and found["outer_steps"] == 6 and found["centre_diff"] < 1e-9
    real = consensus.first_step
    monkeypatch.setattr(consensus, "first_step", lambda net, init, k, seed: real(net, init, k, seed + 1))
    assert not consensus.shortcut(net, 9, 3, "sorted", experiment1_phases(), 6)["same"]
