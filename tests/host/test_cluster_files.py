"""The configurations of a NATS cluster, and the users' rights as NATS has them: pure texts."""

import json
import re

import bcrypt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dcka.broker.access import Rights, access
from dcka.broker.base import template_text
from dcka.broker.cluster import TEMPLATE
from dcka.broker.cluster_files import Locks, Member, configuration
from dcka.security.nats_files import nats_hash, parsed, permissions, subjects, users

LOCKS = Locks("server.crt", "server.key", "ca.pem", "users.conf")
THREE = tuple(Member(name, f"{name}.local", 8883) for name in "abc")

LEVELS = st.lists(st.sampled_from(["dcka", "net", "x", "1", "23", "status"]), min_size=1, max_size=5)
FILTERS = st.builds(
    lambda levels, wild, end: "/".join(
        ["+" if w else level for level, w in zip(levels, wild, strict=False)] + end
    ),
    LEVELS,
    st.lists(st.booleans(), min_size=5, max_size=5),
    st.sampled_from([[], ["#"]]),
)


def takes(subject: str, topic: str) -> bool:
    """Whether a subject of NATS takes the subject of a topic, by NATS' rules: `*` one token, `>` one or more."""
    pattern = re.escape(subject).replace(r"\*", r"[^.]+").replace(">", ".+")
    return re.fullmatch(pattern, topic.replace("/", ".")) is not None


@given(FILTERS, LEVELS)
def test_a_filter_and_its_subjects_take_the_same_topics(topic_filter: str, levels: list[str]) -> None:
    from paho.mqtt.client import topic_matches_sub

    topic = "/".join(levels)
    assert any(takes(one, topic) for one in subjects(topic_filter)) == topic_matches_sub(topic_filter, topic)


@pytest.mark.parametrize("topic", ["dcka//x", "dcka/a.b", "dcka/a b", "dcka/>", "dcka/*", "", "dcka/é"])
def test_what_has_another_meaning_as_a_subject_is_refused(topic: str) -> None:
    with pytest.raises(ValueError, match="has no subject in NATS"):
        subjects(topic)


def test_every_right_of_a_network_has_its_subjects() -> None:
    for rights in access("net", {1: [2], 2: [1, 3], 3: [2]}, root=1):
        found = permissions(rights)
        for kind, allowed in (("publish", rights.publish), ("subscribe", rights.read)):
            assert found[kind] == (
                {"allow": [subject for one in allowed for subject in subjects(one)]}
                if allowed
                else {"deny": [">"]}
            )


def test_who_may_publish_nothing_may_not_publish_all() -> None:
    """NATS takes an empty list for everything."""
    assert permissions(Rights("monitor", (), ("dcka/net/run",)))["publish"] == {"deny": [">"]}


def test_a_hash_is_that_of_the_password_alone_and_the_same_each_time() -> None:
    found = nats_hash("n1", "secret-of-n1")
    assert bcrypt.checkpw(b"secret-of-n1", found.encode())
    assert not bcrypt.checkpw(b"secret-of-n2", found.encode())
    assert found == nats_hash("n1", "secret-of-n1")
    assert len({found, nats_hash("n2", "secret-of-n1"), nats_hash("n1", "another")}) == 3


def test_the_users_file_has_no_password_in_it() -> None:
    rights = access("net", {1: [2], 2: [1]})
    text = users(rights, {one.user: f"secret-{one.user}" for one in rights})
    assert "secret" not in text
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("  {")]
    assert [line["user"] for line in lines] == ["host", "monitor", "n1", "n2"]
    assert all(line["allowed_connection_types"] == ["MQTT"] for line in lines)


def test_a_server_knows_the_others_and_not_itself() -> None:
    for member in THREE:
        text = configuration(template_text(TEMPLATE), member, THREE, "net", "store", 1000, LOCKS)
        routes = json.loads(next(line for line in text.splitlines() if "routes:" in line).split("routes:")[1])
        assert routes == [f"tls://{one.host}:6222" for one in THREE if one is not member]
        assert f'server_name: "{member.name}"' in text
        assert "stream_replicas: 3" in text
        assert "max_connections: 2064" in text
        assert text.count("verify: true") == 1  # between servers; clients log in
        assert "$" not in re.sub(r"#.*", "", text)


def test_without_locks_nothing_is_encrypted_and_nobody_asked() -> None:
    text = configuration(template_text(TEMPLATE), THREE[0], THREE, "net", "store", 5)
    assert "tls" not in re.sub(r"#.*", "", text)
    assert "authorization" not in text


def test_an_even_number_of_servers_is_refused() -> None:
    with pytest.raises(ValueError, match="odd number"):
        configuration(template_text(TEMPLATE), THREE[0], THREE[:2], "net", "store", 5)


def test_servers_on_one_computer_have_ports_one_after_the_other() -> None:
    assert parsed("localhost,localhost, localhost") == (
        Member("localhost", "localhost", 8883, 6222),
        Member("localhost-2", "localhost", 8884, 6223),
        Member("localhost-3", "localhost", 8885, 6224),
    )


def test_servers_by_name_address_and_port() -> None:
    assert parsed("a.local,10.0.0.2:9883,[fd00::1]:8883/7000") == (
        Member("a.local", "a.local", 8883, 6222),
        Member("10.0.0.2", "10.0.0.2", 9883, 6222),
        Member("fd00--1", "fd00::1", 8883, 7000),
    )


@pytest.mark.parametrize(
    ("servers", "says"),
    [
        ("a,b", "3, 5 or 7 servers"),
        ("a,b,c,d", "3, 5 or 7 servers"),
        ("a,,c", "'' is no HOST"),
        ("a:0,b,c", "from 1 to 65535"),
        ("a:99999,b,c", "from 1 to 65535"),
        ("a:x,b,c", "'a:x' is no HOST"),
        ("a:1,a:1,b", "the same port"),
        ("a:6222,b,c", "the same port"),
    ],
)
def test_servers_that_cannot_be(servers: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        parsed(servers)
