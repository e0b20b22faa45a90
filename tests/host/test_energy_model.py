"""The modelled charge: computed by hand, and laws that hold whatever the constants are."""

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcka.energy import (
    DAY_MS,
    ESP32,
    ESP32_DHCP,
    EnergyError,
    Ledger,
    modelled_charges_mc,
    modelled_mah,
    shortest_sleep_ms,
    topic_bytes,
    wire_bytes,
)

LAW = settings(deadline=None, derandomize=True, max_examples=60)
COUNTS = [field.name for field in dataclasses.fields(Ledger) if field.name != "slot_ms"]


def test_a_day_of_deep_sleep():
    """10 µA for 24 h."""
    assert modelled_mah(Ledger()) == pytest.approx(0.24)


def test_an_hour_associated():
    """30 mA for an hour, 10 µA for 23."""
    assert modelled_mah(Ledger(slots_awake=3600, slot_ms=1000)) == pytest.approx(30 + 0.23)


def test_36_associations_are_a_milliampere_hour():
    charges = modelled_charges_mc(Ledger(associations=36))
    assert charges["associating"] == pytest.approx(3600)
    assert charges["deep_sleep"] == pytest.approx(0.010 * (86_400 - 36 * 0.73))


def test_a_message_by_hand():
    """100 bytes: 66 of MQTT, topic, TCP and IP, 36 of the frame, at 1 Mbit/s, and 0.5 ms; an ACK of 76 comes back."""
    ledger = Ledger(slots_awake=1, slot_ms=1000, broadcasts=1, payload_sent=100)
    assert (ledger.wire_sent, ledger.wire_heard) == (166, 40)
    charges = modelled_charges_mc(ledger)
    assert charges["transmitting"] == pytest.approx(210 * (202 * 8 / 1000 + 0.5) / 1000)
    assert charges["receiving"] == pytest.approx(70 * (76 * 8 / 1000 + 0.5) / 1000)


def test_a_longer_topic_travels_with_every_message():
    """4 of MQTT, 40 of TCP and IP, the topic; `dcka/greenhouse/commit/12` has 25."""
    assert topic_bytes("greenhouse", (3, 12)) == 25
    assert wire_bytes(100) == 166
    assert wire_bytes(1000, 10, 25) == 1000 + 10 * (4 + 40 + 25)
    ledger = Ledger(broadcasts=2, payload_sent=200, deliveries=3, payload_heard=90, topic_bytes=25)
    assert (ledger.wire_sent, ledger.wire_heard) == (200 + 2 * 69 + 3 * 40, 90 + 3 * 69 + 2 * 40)


def test_light_sleep_and_computing_by_hand():
    charges = modelled_charges_mc(
        Ledger(slots_awake=10, slot_ms=100, computing_ms=500, light_sleep_ms=10_000)
    )
    assert charges["awake"] == pytest.approx(30)
    assert charges["computing"] == pytest.approx(38 * 0.5)
    assert charges["light_sleep"] == pytest.approx(8)


def test_sleeping_pays_from_where_both_ways_cost_the_same():
    """(100 mC − 0.8 mA · 0.73 s) / 29.2 mA = 3.4 s."""
    for model in (ESP32, ESP32_DHCP):
        stretch = shortest_sleep_ms(model)
        stays = model.associated_ma * stretch / 1000
        sleeps = model.light_sleep_ma * (stretch - model.association_ms) / 1000 + model.association_mc
        assert stays == pytest.approx(sleeps)
    assert shortest_sleep_ms() == pytest.approx(3404.7, abs=0.1)
    assert shortest_sleep_ms(dataclasses.replace(ESP32, association_mc=0.0)) == ESP32.association_ms


@LAW
@given(st.sampled_from(COUNTS), st.integers(1, 1000))
def test_more_of_anything_costs_more(count, more):
    ledger = Ledger(100, 1000.0, 5000, 3, 40, 50, 4000, 5000, 600)
    other = dataclasses.replace(ledger, **{count: getattr(ledger, count) + more})
    assert modelled_mah(other) > modelled_mah(ledger)


@LAW
@given(st.floats(0.01, 100))
def test_causes_add_up_and_scale(times):
    ledger = Ledger(100, 1000.0, 5000, 3, 40, 50, 4000, 5000, 600)
    scaled = Ledger(
        *(
            value * (1 if name in ("slot_ms", "topic_bytes") else times)
            for name, value in dataclasses.asdict(ledger).items()
        )
    )
    whole = modelled_mah(scaled, span_ms=times * DAY_MS)
    assert whole == pytest.approx(times * modelled_mah(ledger))
    assert whole * 3600 == pytest.approx(sum(modelled_charges_mc(scaled, span_ms=times * DAY_MS).values()))


def test_what_does_not_fit_is_refused():
    with pytest.raises(EnergyError, match=r"the ledger takes 90,000 s and its span has 86,400 s"):
        modelled_mah(Ledger(slots_awake=90_000, slot_ms=1000))
    with pytest.raises(ValueError, match=r"ledger: broadcasts = -1"):
        Ledger(broadcasts=-1)
    with pytest.raises(ValueError, match=r"computing_ms = nan"):
        Ledger(computing_ms=float("nan"))
