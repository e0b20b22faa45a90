"""Both engines do what the protocol asks of a broker, and docs/broker.md says where they differ."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from servers import (
    ENGINES,
    LIMIT_S,
    Message,
    TestClient,
    frozen_client,
    mosquitto_with_password,
    running,
    silent_server,
)

from dcka.broker import Broker, BrokerUrl, NoAnswer, NotAllowed, NotListening, probe

LARGEST = 4 * 1024 * 1024  # mqtt_broker/*.conf


@pytest.fixture(scope="module", params=ENGINES)
def broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    with running(request.param) as started:
        yield started


@pytest.fixture
def publisher(broker: Broker) -> Iterator[TestClient]:
    with TestClient(broker.address, "publisher") as client:
        yield client


@pytest.fixture
def subscriber(broker: Broker) -> Iterator[TestClient]:
    with TestClient(broker.address, "subscriber") as client:
        yield client


def retained(url: BrokerUrl, name: str, expected: int) -> list[Message]:
    """The retained messages on `name`, asked for until there are `expected` of them (docs/broker.md: why)."""
    with TestClient(url, "reader") as reader:
        deadline = time.monotonic() + LIMIT_S
        while True:
            reader.subscribe(name)
            messages = reader.received(reader)
            if len(messages) == expected:
                return messages
            assert time.monotonic() < deadline, f"{len(messages)} retained messages on {name}, not {expected}"


def test_it_answers(broker: Broker) -> None:
    assert probe(broker.address) < LIMIT_S
    assert broker.url == f"mqtt://127.0.0.1:{broker.address.port}"


def test_messages_come_in_order_over_all_topics_of_a_publisher(
    publisher: TestClient, subscriber: TestClient
) -> None:
    subscriber.subscribe("dcka/order/#")
    sent = [Message(f"dcka/order/x/{i % 7}", b"%d" % i, False) for i in range(5000)]
    for message in sent:
        publisher.publish(message.topic, message.payload)
    assert subscriber.received(publisher) == sent


@pytest.mark.parametrize("payload", [b"", b"\x00", bytes(range(256)), b"\xff\xfe{", b"x" * (LARGEST - 1000)])
def test_any_bytes_up_to_the_limit(publisher: TestClient, subscriber: TestClient, payload: bytes) -> None:
    subscriber.subscribe("dcka/bytes/put/1")
    publisher.publish("dcka/bytes/put/1", payload)
    assert subscriber.received(publisher) == [Message("dcka/bytes/put/1", payload, False)]


def test_what_is_too_large_harms_its_sender_alone(broker: Broker, subscriber: TestClient) -> None:
    subscriber.subscribe("dcka/large")
    with TestClient(broker.address, "careless") as careless:
        careless.publish("dcka/large", b"x" * (LARGEST + 1000))
        assert careless.disconnected.wait(LIMIT_S)
    subscriber.publish("dcka/large", b"next")
    assert subscriber.next() == Message("dcka/large", b"next", False)


def test_wildcards_stay_within_their_network(publisher: TestClient, subscriber: TestClient) -> None:
    subscriber.subscribe("dcka/one/#", "dcka/two/+/3")
    for topic in ("dcka/one", "dcka/one/run", "dcka/one/x/0/1", "dcka/two/commit/3", "dcka/two/commit/33"):
        publisher.publish(topic)
    publisher.publish("dcka/oneself/run")
    assert [message.topic for message in subscriber.received(publisher)] == [
        "dcka/one",  # "#" includes the level above
        "dcka/one/run",
        "dcka/one/x/0/1",
        "dcka/two/commit/3",
    ]


def test_overlapping_subscriptions_give_the_message_once_or_once_for_each(
    broker: Broker, publisher: TestClient, subscriber: TestClient
) -> None:
    subscriber.subscribe("dcka/overlap/commit/+", "dcka/overlap/commit/3")
    publisher.publish("dcka/overlap/commit/3", b"both")
    message = Message("dcka/overlap/commit/3", b"both", False)
    assert subscriber.received(publisher) == [message] * (2 if broker.engine == "embedded" else 1)

    subscriber.unsubscribe("dcka/overlap/commit/+")
    publisher.publish("dcka/overlap/commit/3", b"one")
    publisher.publish("dcka/overlap/commit/4", b"none")
    assert subscriber.received(publisher) == [Message("dcka/overlap/commit/3", b"one", False)]

    subscriber.unsubscribe("dcka/overlap/commit/3")
    publisher.publish("dcka/overlap/commit/3", b"none")
    assert subscriber.received(publisher) == []


def test_the_last_retained_message_of_a_topic_is_kept_until_it_is_cleared(
    broker: Broker, publisher: TestClient
) -> None:
    for payload in (b"first", b"second"):
        publisher.publish("dcka/kept/run", payload, retain=True)
    publisher.publish("dcka/kept/run", b"passing by")
    assert retained(broker.address, "dcka/kept/run", 1) == [Message("dcka/kept/run", b"second", True)]
    publisher.publish("dcka/kept/run", b"", retain=True)
    assert retained(broker.address, "dcka/kept/run", 0) == []


def test_those_who_listen_already_get_a_retained_message_as_an_ordinary_one(
    publisher: TestClient, subscriber: TestClient
) -> None:
    subscriber.subscribe("dcka/live/run")
    publisher.publish("dcka/live/run", b"now", retain=True)
    assert subscriber.next() == Message("dcka/live/run", b"now", False)


def test_subscribing_again_brings_the_retained_messages_again(publisher: TestClient, broker: Broker) -> None:
    publisher.publish("dcka/again/run", b"here", retain=True)
    retained(broker.address, "dcka/again/run", 1)
    publisher.subscribe("dcka/again/run")
    publisher.subscribe("dcka/again/run")
    assert publisher.received(publisher) == [Message("dcka/again/run", b"here", True)] * 2


def test_a_nodes_own_status_comes_after_all_retained_commits(broker: Broker, publisher: TestClient) -> None:
    """Protocol, section 2: its status coming back tells a node that all retained messages have come."""
    for i in range(200):
        publisher.publish(f"dcka/boot/commit/{i}", b"x" * 400, retain=True)
    retained(broker.address, "dcka/boot/commit/+", 200)
    with TestClient(broker.address, "node") as node:
        node.subscribe("dcka/boot/status/7")
        node.subscribe("dcka/boot/commit/+")
        node.publish("dcka/boot/status/7", b"ready", retain=True)
        messages = [node.next() for _ in range(201)]
    assert messages[-1] == Message("dcka/boot/status/7", b"ready", False)
    assert sorted(int(message.topic.rpartition("/")[2]) for message in messages[:-1]) == list(range(200))


def test_a_will_is_published_and_retained_when_the_connection_breaks(
    broker: Broker, subscriber: TestClient
) -> None:
    subscriber.subscribe("dcka/will/status/+")
    with TestClient(broker.address, "broken", will=("dcka/will/status/1", b"offline")) as client:
        client.cut()
        assert subscriber.next() == Message("dcka/will/status/1", b"offline", False)
    assert retained(broker.address, "dcka/will/status/1", 1)[0].payload == b"offline"


def test_no_will_after_a_goodbye(broker: Broker, subscriber: TestClient) -> None:
    subscriber.subscribe("dcka/goodbye/#")
    with TestClient(broker.address, "polite", will=("dcka/goodbye/status/1", b"offline")) as client:
        client.publish("dcka/goodbye/status/1", b"ready")
    with TestClient(broker.address, "polite") as client:  # its session is over when it can begin another
        assert [message.payload for message in subscriber.received(client)] == [b"ready"]


def test_a_will_of_a_frozen_client_comes_when_its_keepalive_is_over() -> None:
    """With the embedded broker alone: mosquitto looks for frozen clients every five seconds only."""
    with running("embedded") as broker, TestClient(broker.address, "subscriber") as subscriber:
        subscriber.subscribe("dcka/frozen/status/1")
        begun = time.monotonic()
        with frozen_client(broker.address, "frozen", ("dcka/frozen/status/1", b"offline"), keepalive=1):
            assert subscriber.next().payload == b"offline"
        assert time.monotonic() - begun > 0.9


def test_a_second_client_of_the_same_name_ends_the_first(broker: Broker) -> None:
    with TestClient(broker.address, "twin") as first, TestClient(broker.address, "twin") as second:
        assert first.disconnected.wait(LIMIT_S)
        assert not second.disconnected.is_set()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_restart_keeps_the_port_and_ends_connections(engine: str) -> None:
    with running(engine) as broker:
        url, pid = broker.url, broker.pid
        with TestClient(broker.address, "before") as client:
            broker.restart()
            assert client.disconnected.wait(LIMIT_S)
        assert broker.url == url
        assert broker.pid not in (None, pid)
        with TestClient(broker.address, "after") as client:
            client.subscribe("dcka/new")
            client.publish("dcka/new", b"works")
            assert client.next().payload == b"works"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_killed_broker_comes_back_with_its_port(engine: str) -> None:
    with running(engine) as broker:
        url = broker.address
        broker.kill()
        assert broker.pid is None
        with pytest.raises(NotListening):
            probe(url)
        broker.restart()
        assert broker.address == url
        probe(url)


@pytest.mark.parametrize("engine", ENGINES)
def test_with_a_folder_retained_messages_outlive_the_broker(engine: str, tmp_path: Path) -> None:
    folder = tmp_path / "a folder with a space"
    with running(engine, folder=folder) as broker, TestClient(broker.address, "before") as client:
        for i in range(20):
            client.publish(f"dcka/kept/commit/{i}", b"%d" % i, retain=True)
        retained(broker.address, "dcka/kept/commit/+", 20)
        client.publish("dcka/kept/commit/5", b"", retain=True)
        retained(broker.address, "dcka/kept/commit/+", 19)
    with running(engine, folder=folder) as broker:
        messages = retained(broker.address, "dcka/kept/commit/+", 19)
    assert {message.topic: message.payload for message in messages} == {
        f"dcka/kept/commit/{i}": b"%d" % i for i in range(20) if i != 5
    }


@pytest.mark.parametrize(("engine", "kept"), [("embedded", 1), ("mosquitto", 0)])
def test_without_a_folder_only_the_embedded_broker_keeps_them_over_a_restart(engine: str, kept: int) -> None:
    with running(engine) as broker:
        with TestClient(broker.address, "before") as client:
            client.publish("dcka/kept/run", b"run", retain=True)
            retained(broker.address, "dcka/kept/run", 1)
        broker.restart()
        assert len(retained(broker.address, "dcka/kept/run", kept)) == kept


def test_a_real_brokers_refusals_are_told_apart(tmp_path: Path) -> None:
    with mosquitto_with_password(tmp_path, "anna", "right") as url:
        assert probe(url) < LIMIT_S
        with pytest.raises(NotAllowed, match="a wrong password"):
            probe(BrokerUrl(url.host, url.port, "anna", "mistaken"))
        with pytest.raises(NotAllowed, match="wants a user name"):
            probe(BrokerUrl(url.host, url.port))


def test_a_silent_server_is_given_up() -> None:
    with silent_server() as url, pytest.raises(NoAnswer, match=r"no MQTT answer within 0\.3 s"):
        probe(url, timeout=0.3)
