"""A day of a deep sleeper: by hand, and laws of the pace."""

import json

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from dcka.cli.energy import command
from dcka.energy import ESP32, EnergyError, Ledger, modelled_charges_mc, modelled_mah
from dcka.energy.sleeper import Sleeper, aim, day, modelled_day
from dcka_core.rota import AIM_S

LAW = settings(deadline=None, derandomize=True, max_examples=40)


def test_a_sampling_wake_by_hand():
    """0.5 s of the processor at 68 mA, and as much less of deep sleep."""
    charges = modelled_charges_mc(Ledger(sampling_wakes=10))
    assert charges["sampling"] == pytest.approx(340)
    assert charges["deep_sleep"] == pytest.approx(0.010 * (86_400 - 5))
    with pytest.raises(EnergyError, match="takes"):
        modelled_mah(Ledger(sampling_wakes=200_000))


def test_a_day_without_radio_and_readings_is_deep_sleep_and_one_clustering():
    ledger = day(Sleeper(86_400, 0))
    guard, asks = aim(86_400)
    assert ledger.associations == pytest.approx(1 + asks)
    assert ledger.sampling_wakes == 0
    assert guard <= AIM_S and 1 <= asks <= 10


def test_a_clock_that_has_learned_aims_within_seconds_for_an_hour():
    guard, asks = aim(3600)
    assert 1 < guard < 8 and asks == 0


@LAW
@given(st.floats(60, 80_000), st.one_of(st.just(0.0), st.floats(10, 3000)), st.floats(0, 30))
def test_the_slower_the_pace_the_longer_the_battery(every, sample, run):
    fast = modelled_day(Sleeper(every, sample, run), 2000)
    slow = modelled_day(Sleeper(every * 4, sample, run), 2000)
    assert slow["battery_days"] > fast["battery_days"] * 0.999
    assert fast["mah_a_day"] == pytest.approx(sum(fast["by_cause"].values()))
    assert modelled_day(Sleeper(every, sample, run), 4000)["battery_days"] == pytest.approx(
        2 * fast["battery_days"]
    )


@LAW
@given(st.floats(600, 80_000), st.floats(30, 3000))
def test_readings_cost_and_cost_less_than_a_wake_each(every, sample):
    without = modelled_mah(day(Sleeper(every, 0)))
    with_them = modelled_mah(day(Sleeper(every, sample)))
    most = 86_400 / sample * ESP32.computing_ma * ESP32.sampling_ms / 3.6e6
    assert without < with_them <= without + most


def test_impossible_sleepers_are_refused():
    for every, sample, run in ((9, 60, 5), (60, -1, 5), (60, 60, -1), (float("nan"), 60, 5)):
        with pytest.raises(EnergyError):
            Sleeper(every, sample, run)
    with pytest.raises(EnergyError, match="battery"):
        modelled_day(Sleeper(3600), 0)
    with pytest.raises(EnergyError, match="takes"):
        modelled_day(Sleeper(10, 0, 30), 2000)


def test_the_verb_says_that_it_is_modelled():
    told = CliRunner().invoke(command, ["--every", "3600", "--json"])
    assert told.exit_code == 0, told.output
    record = json.loads(told.stdout)
    assert record["modelled"] is True and record["battery_days"] > 50
    table = CliRunner().invoke(command, ["--json"])
    assert len(json.loads(table.stdout)["paces"]) == 4
