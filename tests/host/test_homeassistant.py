"""What Home Assistant is told: ids that never collide, topics that nodes speak on, templates that say what we say."""

import json

import jinja2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from runs_samples import outcome, result

from dcka.broker.access import DISCOVERIES, DISCOVERY, HOST, MONITOR, access, matches
from dcka.energy import DAY_MS, topic_bytes
from dcka.homeassistant import discovery, object_id, origin_of, templates
from dcka.homeassistant.announce import topic_of
from dcka.homeassistant.discovery import PREFIX, STATES
from dcka.mqtt.statuses import STATES as SAID
from dcka.runs.ledgers import ledgers

NAMES = st.text("abAB019_-", min_size=1, max_size=64)
IDS = st.integers(1, 65535)
STATUS = {
    "v": 1, "node": 3, "boot": 4, "nonce": 9, "state": "done", "run": 7, "free": 41000, "firmware": "0.1.0",
    "runtime": "micropython 1.29.0 esp32", "dropped": {"stale": 2, "json": 1}, "latest": [2, 1.375],
}  # fmt: skip


def rendered(template, record):
    return (
        jinja2.Environment(undefined=jinja2.StrictUndefined).from_string(template).render(value_json=record)
    )


def entity(key, status=STATUS, **more):
    return discovery("attic", 3, (1, 2, 3), status, **more)["components"][key]


@settings(deadline=None)
@given(NAMES, IDS, NAMES, IDS)
def test_two_nodes_have_the_same_ids_where_they_are_the_same_node_and_never_else(
    network, node, other, another
):
    same = (network, node) == (other, another)
    assert (object_id(network, node) == object_id(other, another)) == same
    ours = {one["unique_id"] for one in discovery(network, node, [node])["components"].values()}
    theirs = {one["unique_id"] for one in discovery(other, another, [another])["components"].values()}
    assert ours == theirs if same else not ours & theirs


@settings(deadline=None)
@given(NAMES, IDS)
def test_what_is_announced_says_whose_it_is(network, node):
    record = json.loads(json.dumps(discovery(network, node, [node])))
    assert origin_of(record) == network
    assert matches(DISCOVERY, f"{PREFIX}/{topic_of(network, node)}")


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"origin": "dcka"},
        {"origin": {"name": "zigbee"}, "device": {"identifiers": ["dcka_1_a"]}},
        {"origin": {"name": "dcka"}, "device": {"identifiers": "dcka_1_a"}},
        {"origin": {"name": "dcka"}, "device": {"identifiers": [3]}},
        {"origin": {"name": "dcka"}, "device": {"identifiers": ["dcka_x_a"]}},
        {"origin": {"name": "dcka"}, "device": {"identifiers": ["dcka_1"]}},
        {"origin": {"name": "dcka"}, "device": []},
    ],
)
def test_what_others_announce_is_not_ours(record):
    assert origin_of(record) is None


def test_ids_stay_as_they_are_over_a_reflash_and_a_new_name_of_the_firmware():
    before = discovery("attic", 3, (3,), STATUS)
    after = discovery("attic", 3, (3,), STATUS | {"boot": 1, "nonce": 4, "firmware": "9", "runtime": "other"})
    assert before["device"]["identifiers"] == after["device"]["identifiers"]
    assert before["device"]["sw_version"] != after["device"]["sw_version"]
    ids = [{key: one["unique_id"] for key, one in both["components"].items()} for both in (before, after)]
    assert ids[0] == ids[1]


def test_every_topic_is_one_that_the_node_speaks_on_and_a_monitor_may_read():
    record = discovery("attic", 3, (1, 2, 3), STATUS)
    users = {rights.user: rights for rights in access("attic", {1: [2], 2: [1, 3], 3: [2]})}
    topics = {record["state_topic"], *(one["topic"] for one in record["availability"])}
    topics |= {one["state_topic"] for one in record["components"].values() if "state_topic" in one}
    for topic in topics:
        assert users["n3"].may_publish(topic) and users[MONITOR].may_read(topic), topic
    config = f"{PREFIX}/{topic_of('attic', 3)}"
    assert users[HOST].may_publish(config) and users[MONITOR].may_read(config)
    assert not users[MONITOR].may_publish(config) and not users["n3"].may_publish(config)
    assert any(matches(one, config) for one in DISCOVERIES)


def test_availability_is_the_nodes_word_or_its_will_and_who_sleeps_is_there():
    assert set(STATES) == set(SAID)
    for state in SAID:
        told = rendered(templates.ONLINE, {"state": state})
        assert told == ("offline" if state == "offline" else "online")


def test_the_reading_is_told_where_the_node_has_told_it():
    assert rendered(entity("cluster")["value_template"], STATUS) == "2"
    assert rendered(entity("distance")["value_template"], STATUS) == "1.375"
    for key in ("cluster", "distance"):
        assert rendered(entity(key)["value_template"], {"state": "offline"}) == "None"
    assert entity("distance", unit="°C")["unit_of_measurement"] == "°C"
    assert "unit_of_measurement" not in entity("distance")


def test_what_a_node_does_not_measure_has_no_entity():
    plain, measured = (
        discovery("attic", 3, (3,), status)["components"]
        for status in (STATUS, STATUS | {"battery": 71, "rssi": -60})
    )
    assert set(measured) - set(plain) == {"battery", "rssi"}
    assert rendered(measured["battery"]["value_template"], {"battery": 71}) == "71"
    assert rendered(measured["rssi"]["value_template"], {"rssi": -60}) == "-60"


def test_problems_and_counters():
    assert rendered(entity("problem")["value_template"], STATUS) == "OFF"
    assert rendered(entity("problem")["value_template"], {"problem": "no data"}) == "ON"
    assert rendered(entity("dropped")["value_template"], STATUS) == "3"
    assert rendered(entity("free")["value_template"], STATUS) == "41000"
    # A will has none of them: unknown, and no error in Home Assistant's log.
    for key in ("dropped", "free"):
        assert rendered(entity(key)["value_template"], {"state": "offline", "boot": 1, "run": 2}) == "None"


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 2000), min_size=7, max_size=7),
    st.integers(0, 10_000_000),
    st.none() | st.integers(0, 9_000_000),
)
def test_the_battery_is_what_the_model_makes_of_the_result(spent, ms, asleep_ms):
    told = result(3) | {"ledger": spent, "boot": 3, "ms": ms}
    if asleep_ms is not None:
        told["asleep_ms"] = asleep_ms
    found = ledgers(outcome(results={3: told}))[3]
    ledger = found.ledger
    span_ms = ledger.awake_ms + ledger.light_sleep_ms + ledger.associations * 730
    network = outcome().network
    shown = rendered(
        templates.battery_days(topic_bytes(network, outcome(results={3: told}).members), 1200), told
    )
    if not span_ms or not found.mah:
        assert shown == "None"
    else:
        assert float(shown) == pytest.approx(1200 / (found.mah / span_ms * DAY_MS), abs=0.051, rel=1e-6)


def test_without_a_ledger_nothing_is_said_of_the_battery():
    assert rendered(templates.battery_days(20), {"ms": 0}) == "None"
