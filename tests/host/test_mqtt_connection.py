"""The host's connection, on both brokers: it says why there is none, and mends itself when it breaks."""

import threading
import time

import pytest
from servers import ENGINES, LIMIT_S, TestClient, mosquitto_with_password, running, silent_server, wait_until

from dcka.broker import BrokerUrl, NameUnknown, NoAnswer, NotAllowed, NotListening
from dcka.mqtt import Connection, ConnectionLost, Message, Reconnected

pytestmark = pytest.mark.system

NET = "lab"


@pytest.fixture(scope="module", params=ENGINES)
def broker(request):
    with running(request.param) as started:
        yield started


@pytest.fixture
def own_broker(tmp_path):
    """A broker that a test may end: what it keeps is in a folder."""
    with running("embedded", folder=tmp_path / "store") as started:
        yield started


def texts(connection, count):
    """The next `count` messages, as (suffix, payload, retained)."""
    messages = [connection.next(LIMIT_S) for _ in range(count)]
    return [(message.suffix, message.payload, message.retained) for message in messages]


def test_what_is_flushed_has_been_seen(broker):
    with TestClient(broker.address, "watcher") as watcher:
        watcher.subscribe("dcka/lab/#")
        with Connection(broker.address, NET) as connection:
            for number in range(200):
                assert connection.publish(f"put/{number}", bytes(1000))
            connection.flush()
            with TestClient(broker.address, "asker") as asker:
                seen = watcher.received(asker)
        assert [message.topic for message in seen] == [f"dcka/lab/put/{number}" for number in range(200)]


def test_messages_come_in_order_with_what_is_retained_marked(broker):
    with Connection(broker.address, NET) as connection, TestClient(broker.address, "other") as other:
        connection.publish("run", {"v": 1, "run": 3}, retain=True)
        connection.flush()
        connection.subscribe("run", "status/+")
        # NATS stores what is retained a moment after it has answered; a loaded machine makes that moment long.
        while (first := connection.next(1)) is None:
            connection.ask("run")
        assert (first.suffix, first.payload, first.retained) == ("run", b'{"v":1,"run":3}', True)
        for number in range(50):
            other.publish(f"dcka/lab/status/{number}", bytes([number]))
        assert texts(connection, 50) == [(f"status/{number}", bytes([number]), False) for number in range(50)]
        assert connection.next(0) is None
        connection.publish("run", b"", retain=True)
        connection.flush()


def test_what_is_asked_for_again_comes_again(broker):
    with Connection(broker.address, NET) as connection:
        connection.publish("dataset", b"kept", retain=True)
        connection.flush()
        connection.subscribe("dataset")
        assert texts(connection, 1) == [("dataset", b"kept", True)]
        connection.ask("dataset")
        assert texts(connection, 1) == [("dataset", b"kept", True)]
        connection.unsubscribe("dataset")
        connection.publish("dataset", b"", retain=True)
        connection.flush()
        assert connection.next(0) is None


def test_two_connections_of_a_network_do_not_end_each_other(broker):
    with Connection(broker.address, NET) as first, Connection(broker.address, NET) as second:
        first.flush()
        second.flush()
        assert first.connected and second.connected


def test_a_payload_of_two_megabytes_is_counted_and_the_next_message_comes(broker):
    with Connection(broker.address, NET) as connection, TestClient(broker.address, "other") as other:
        connection.subscribe("status/+")
        other.publish("dcka/lab/status/1", b"A" * (2 << 20))
        other.publish("dcka/lab/status/1", b"good")
        assert texts(connection, 1) == [("status/1", b"good", False)]
        assert dict(connection.rejected) == {("status/1", "oversize"): 1}


def test_rejections_are_counted_by_topic_and_reason_and_bounded(broker):
    with Connection(broker.address, NET) as connection:
        for number in range(3000):
            connection.reject(f"status/{number}", "no JSON")
        connection.reject("status/1", "no JSON")
        assert connection.rejected["status/1", "no JSON"] == 2
        assert connection.rejected.total() == 3001
        assert len(connection.rejected) <= 1001


@pytest.mark.parametrize("keeps", [True, False], ids=["folder", "no folder"])
@pytest.mark.parametrize("engine", ENGINES)
def test_after_an_outage_it_is_back_with_its_subscriptions(engine, keeps, tmp_path):
    with (
        running(engine, folder=tmp_path / "store" if keeps else None) as broker,
        Connection(broker.address, NET) as connection,
    ):
        connection.subscribe("run", "status/+")
        broker.kill()
        wait_until(lambda: not connection.connected, "the outage is seen")
        assert connection.publish("run", b"lost") is False
        with pytest.raises(ConnectionLost, match="did not confirm"):
            connection.flush(0.5)
        connection.subscribe("step/+")  # in an outage: it counts from the next connection on
        broker.restart()
        arrived = connection.next(LIMIT_S)
        assert isinstance(arrived, Reconnected)
        with TestClient(broker.address, "other") as other:
            for topic in ("status/1", "step/1", "run"):
                other.publish(f"dcka/lab/{topic}", b"x")
            assert texts(connection, 3) == [(topic, b"x", False) for topic in ("status/1", "step/1", "run")]


def test_a_broker_that_is_not_there_yet_is_waited_for(own_broker):
    url = own_broker.address
    own_broker.kill()
    wait_until(lambda: own_broker.pid is None, "the broker has gone")
    outcome = []

    def connect():
        with Connection(url, NET, limit=LIMIT_S) as connection:
            outcome.append(connection.connected)

    waiting = threading.Thread(target=connect)
    waiting.start()
    own_broker.restart()
    waiting.join(LIMIT_S)
    assert outcome == [True]


@pytest.mark.parametrize(
    ("url", "error"),
    [
        (BrokerUrl("127.0.0.1", 1), NotListening),
        (BrokerUrl("no-such-host.invalid"), NameUnknown),
    ],
)
@pytest.mark.timed
def test_each_way_to_have_no_broker_has_its_own_sentence(url, error):
    begun = time.monotonic()
    with pytest.raises(error) as caught, Connection(url, NET, limit=0.5):
        pass
    assert str(url) in str(caught.value)
    assert time.monotonic() - begun < 5


@pytest.mark.timed
def test_a_server_that_says_nothing_is_left_after_the_limit():
    begun = time.monotonic()
    with (
        silent_server() as url,
        pytest.raises(NoAnswer, match="is another service on that port"),
        Connection(url, NET, limit=0.5),
    ):
        pass
    assert time.monotonic() - begun < 5


def test_a_wrong_password_is_named_and_a_right_one_gets_in(tmp_path):
    with mosquitto_with_password(tmp_path, "host", "right") as url:
        wrong = BrokerUrl(url.host, url.port, "host", "wrong")
        with pytest.raises(NotAllowed, match="does not let host in"), Connection(wrong, NET, limit=2):
            pass
        with Connection(url, NET, limit=2) as connection:
            connection.flush()


@pytest.mark.timed
def test_leaving_takes_no_time_when_the_broker_is_gone(own_broker):
    with Connection(own_broker.address, NET) as connection:
        connection.subscribe("status/+")
        own_broker.kill()
        begun = time.monotonic()
    assert time.monotonic() - begun < 5


def test_messages_say_when_they_came(broker):
    with Connection(broker.address, NET) as connection:
        connection.subscribe("x")
        before = time.monotonic()
        connection.publish("x", b"1")
        message = connection.next(LIMIT_S)
        assert isinstance(message, Message)
        assert before <= message.at <= time.monotonic()
