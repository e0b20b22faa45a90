"""Which broker a verb speaks to: the named one, the file's, or the one that runs here; and a sentence if none."""

import json

import pytest
from servers import free_port, running

from dcka.broker import BrokerUrl, BrokerUrlError
from dcka.config import State, from_mapping
from dcka.errors import UsageError
from dcka.mqtt.address import broker_of, forget_broker, note_broker, note_file

EMBEDDED = from_mapping({})
NAMED = from_mapping({"network": {"broker": "mqtt://ann@192.0.2.7:1884"}})


def test_the_option_comes_before_the_file(tmp_path):
    assert broker_of(NAMED, State(tmp_path), "mqtt://192.0.2.9") == BrokerUrl("192.0.2.9", 1883)


def test_the_file_comes_next(tmp_path):
    assert broker_of(NAMED, State(tmp_path)) == BrokerUrl("192.0.2.7", 1884, "ann")


def test_the_environment_has_the_password(tmp_path, monkeypatch):
    monkeypatch.setenv("DCKA_BROKER_PASSWORD", "other")
    config = from_mapping({"network": {"broker": "mqtt://ann@192.0.2.7"}})
    assert broker_of(config, State(tmp_path)).password == "other"


def test_an_option_that_is_no_url_is_refused(tmp_path):
    with pytest.raises(BrokerUrlError, match="has no scheme: write mqtt://somewhere"):
        broker_of(EMBEDDED, State(tmp_path), "somewhere")


@pytest.mark.parametrize("explicit", [None, "embedded"])
def test_where_none_was_started_the_way_to_one_is_said(tmp_path, explicit):
    with pytest.raises(
        UsageError, match="no broker of this network runs here: start one with dcka broker, and leave it"
    ):
        broker_of(EMBEDDED, State(tmp_path), explicit)


def test_a_broker_that_was_noted_and_has_gone_is_told(tmp_path):
    state = State(tmp_path)
    note_broker(state, BrokerUrl("127.0.0.1", free_port()), 1)
    with pytest.raises(
        UsageError,
        match=r"does not run any more \(mqtt://127.0.0.1:\d+: nothing listens there.*\): start one",
    ):
        broker_of(EMBEDDED, state)


@pytest.mark.parametrize("broken", [[], {"v": 1}, {"v": 1, "url": "x", "pid": 1}])
def test_a_broken_note_is_told(tmp_path, broken):
    state = State(tmp_path)
    state.write(note_file(state), broken)
    with pytest.raises(UsageError, match=r"broker\.json names no broker .*start one with dcka broker"):
        broker_of(EMBEDDED, state)


@pytest.mark.system
def test_the_noted_broker_is_spoken_to_until_the_note_is_taken_away(tmp_path):
    state = State(tmp_path / ".dcka")
    with running("embedded") as broker:
        note_broker(state, broker.address, 4711)
        assert json.loads(note_file(state).read_text()) == {"v": 1, "url": broker.url, "pid": 4711}
        assert broker_of(EMBEDDED, state) == broker.address
    forget_broker(state, 4712)
    assert note_file(state).exists()  # another one has been started since
    forget_broker(state, 4711)
    assert not note_file(state).exists()
    forget_broker(state, 4711)
