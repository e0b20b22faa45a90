"""What names a broker, what does not, and that a password is never repeated."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcka.broker import BrokerUrl, BrokerUrlError, parse_broker_url
from dcka.broker.url import CA_FILE, joined
from dcka.errors import UsageError


@pytest.mark.parametrize(
    ("text", "host", "port", "username"),
    [
        ("mqtt://127.0.0.1:1884", "127.0.0.1", 1884, None),
        ("mqtt://broker.local", "broker.local", 1883, None),
        ("mqtt://host:1", "host", 1, None),
        ("mqtt://host:65535/", "host", 65535, None),
        ("  mqtt://host  ", "host", 1883, None),
        ("MQTT://HOST", "host", 1883, None),
        ("mqtt://anna@host", "host", 1883, "anna"),
        ("mqtt://a%40b%3Ac@host:9", "host", 9, "a@b:c"),
        ("mqtt://[::1]", "::1", 1883, None),
        ("mqtt://anna@[fe80::1]:1884", "fe80::1", 1884, "anna"),
    ],
)
def test_what_names_a_broker(text: str, host: str, port: int, username: str | None) -> None:
    assert parse_broker_url(text, {}) == BrokerUrl(host, port, username)


@pytest.mark.parametrize(
    ("text", "port", "username"),
    [("mqtts://host", 8883, None), ("MQTTS://anna@host:1883/", 1883, "anna"), ("mqtts://[::1]", 8883, None)],
)
def test_what_names_an_encrypted_broker(text: str, port: int, username: str | None) -> None:
    url = parse_broker_url(text, {})
    assert (url.port, url.username, url.tls, url.ca) == (port, username, True, None)
    assert str(url).startswith("mqtts://")


def test_a_node_is_told_what_it_needs_and_no_more(tmp_path: Path) -> None:
    plain = BrokerUrl("h", 1884, "anna", "s3cret")
    assert plain.for_node() == {"host": "h", "port": 1884, "user": "anna", "password": "s3cret"}
    assert BrokerUrl("h").for_node() == {"host": "h", "port": 1883}
    encrypted = BrokerUrl("h", 8883, tls=True, ca=tmp_path / "my-authority.crt")
    assert encrypted.for_node() == {"host": "h", "port": 8883, "ca": "ca.pem"}


def test_a_node_trusts_nobody_by_itself() -> None:
    with pytest.raises(
        UsageError, match=r'^mqtts://h:8883: a MicroPython node.* ca = "FILE.pem" under \[network\]'
    ):
        BrokerUrl("h", 8883, tls=True).for_node()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("localhost:1883", "no scheme: write mqtt://localhost:1883"),
        ("localhost", "no scheme: write mqtt://localhost"),
        ("192.168.1.5:1883", "no scheme: write mqtt://192.168.1.5:1883"),
        ("::1", "no scheme"),
        ("", "no scheme: write mqtt://HOST"),
        ("http://host", "the scheme is mqtt, not 'http'"),
        ("tcp://host:1883", "the scheme is mqtt, not 'tcp'"),
        ("mqtt://", "names no host"),
        ("mqtt://:1883", "names no host"),
        ("mqtt://anna@", "names no host"),
        ("mqtt://host:0", "from 1 to 65535, not '0'"),
        ("mqtt://host:65536", "from 1 to 65535, not '65536'"),
        ("mqtt://host:-1", "from 1 to 65535, not '-1'"),
        ("mqtt://host:", "from 1 to 65535, not ''"),
        ("mqtt://host:１８８３", "from 1 to 65535"),
        ("mqtt://host:1883x", "from 1 to 65535, not '1883x'"),
        ("mqtt://[::1]:x", "from 1 to 65535, not 'x'"),
        ("mqtt://::1", "in brackets, as in mqtt://[::1]:1883"),
        ("mqtt://fe80::1:1883", "in brackets"),
        ("mqtt://[::1", "is not a broker's URL"),
        ("mqtt://host/topic", "something after the port"),
        ("mqtt://host?x=1", "something after the port"),
        ("mqtt://ho st", "is not a host's name"),
    ],
)
def test_what_does_not_is_told_how_to_write_it(text: str, says: str) -> None:
    with pytest.raises(BrokerUrlError) as caught:
        parse_broker_url(text, {})
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, UsageError)


@pytest.mark.parametrize(
    "text",
    [
        "mqtt://anna:s3cret@host",
        "mqtt://anna:s3cret@host:x",
        "mqtts://:s3cret@host",
        "mqtt://a:s3cret@[::1]:1883",
        "mqtt://anna:s3cret/with#all?sorts@host",
        "anna:s3cret@host",
    ],
)
def test_a_password_in_the_url_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(BrokerUrlError, match="DCKA_BROKER_PASSWORD") as caught:
        parse_broker_url(text, {})
    assert "s3cret" not in str(caught.value)


def test_the_password_comes_from_the_environment_and_is_never_shown() -> None:
    environ = {"DCKA_BROKER_PASSWORD": "s3cret"}
    url = parse_broker_url("mqtt://anna@host", environ)
    assert url.password == "s3cret"
    assert "s3cret" not in f"{url} {url!r}"
    assert parse_broker_url("mqtt://host", environ).password is None  # MQTT has none without a user


@settings(deadline=None)
@given(
    host=st.sampled_from(["h", "broker-1.example", "10.0.0.1", "::1", "fe80::1:2"]),
    port=st.integers(1, 65535),
    username=st.none() | st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
    tls=st.booleans(),
)
def test_writing_then_reading_is_the_identity(host: str, port: int, username: str | None, tls: bool) -> None:
    url = BrokerUrl(host, port, username, tls=tls)
    assert parse_broker_url(str(url), {}) == url


@settings(deadline=None)
@given(st.text(max_size=40))
def test_any_text_is_read_or_refused_with_a_sentence(text: str) -> None:
    for candidate in (text, "mqtt://" + text):
        try:
            url = parse_broker_url(candidate, {})
        except BrokerUrlError as error:
            assert "\n" not in str(error)
        else:
            assert url.host
            assert 1 <= url.port <= 65535


# Several addresses of one broker.

THREE = "mqtts://a:1,mqtts://b,mqtts://c:3"


def test_several_addresses_are_read_and_written() -> None:
    url = parse_broker_url(" mqtts://a:1, mqtts://b ,mqtts://c:3", {})
    assert [(one.host, one.port, one.others) for one in url.addresses] == [
        ("a", 1, ()),
        ("b", 8883, ()),
        ("c", 3, ()),
    ]
    assert str(url) == "mqtts://a:1,mqtts://b:8883,mqtts://c:3"
    assert parse_broker_url(str(url), {}) == url
    assert [str(one) for one in url.addresses] == str(url).split(",")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("mqtt://a,mqtts://b", "all addresses have to be mqtts://, or none"),
        ("mqtt://a,mqtt://a:1883", "is there twice"),
        ("mqtt://ann@a,mqtt://b", "the same user"),
        ("mqtt://a,b", "'a,b' is not a host's name"),
        (",".join(f"mqtt://h{i}" for i in range(9)), "8 are the most"),
    ],
)
def test_addresses_that_are_no_one_broker(text: str, says: str) -> None:
    with pytest.raises(BrokerUrlError, match=says):
        parse_broker_url(text, {})


@pytest.mark.parametrize(
    "text",
    [
        "mqtt://u:se,cret@h",
        "mqtt://u@a,mqtt://u:secret@b",
        "mqtt://u:secret@a,mqtt://u@b",
    ],
)
def test_of_several_none_has_a_password_and_it_is_not_repeated(text: str) -> None:
    with pytest.raises(BrokerUrlError, match="DCKA_BROKER_PASSWORD") as caught:
        parse_broker_url(text, {})
    assert "cret" not in str(caught.value)


@settings(deadline=None)
@given(st.integers(1, 8), st.integers(1, 65535))
def test_every_client_tries_every_address(count: int, number: int) -> None:
    url = joined([BrokerUrl(f"h{i}") for i in range(count)])
    assert sorted(url.for_client(number).addresses, key=str) == sorted(url.addresses, key=str)


@pytest.mark.parametrize("count", range(1, 9))
def test_clients_spread_evenly_and_so_do_those_of_a_server_that_is_lost(count: int) -> None:
    url = joined([BrokerUrl(f"h{i}") for i in range(count)])
    clients = range(1, count * max(1, count - 1) + 1)
    firsts = Counter(url.for_client(number).host for number in clients)
    assert len(firsts) == count
    assert len(set(firsts.values())) == 1
    lost = [url.for_client(number).addresses for number in clients if url.for_client(number).host == "h0"]
    seconds = Counter(addresses[1].host for addresses in lost if count > 1)
    assert len(set(seconds.values())) <= 1
    assert len(seconds) == count - 1


def test_what_a_node_is_told_of_several(tmp_path: Path) -> None:
    url = parse_broker_url(THREE, {}).trusting(tmp_path / "ca.pem")
    assert all(one.ca == tmp_path / "ca.pem" for one in url.addresses)
    assert url.for_node(4) == {"host": "b", "port": 8883, "ca": CA_FILE, "others": [["a", 1], ["c", 3]]}
    assert url.for_node() == {"host": "a", "port": 1, "ca": CA_FILE, "others": [["b", 8883], ["c", 3]]}
