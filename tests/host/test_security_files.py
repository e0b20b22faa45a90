"""What mosquitto reads, made from tables: hashes, rules, configuration."""

import base64
import re
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from servers import require_mosquitto

from dcka.broker.access import access
from dcka.broker.folder import BrokerFolder, Doors
from dcka.security.mosquitto_files import MAX_PACKET, configuration, password_file, rules
from dcka.security.passwords import fits, mosquitto_hash, new_password

# Made by mosquitto_passwd 2.0.11 for the password "abc".
SALT = "8r2n61ARy47Be7Qc"
KEY = "3CQM2eDlfSMIE1a1r6GX82OhLMNAbtvCk5eLh2I8S26Yue+xyS+TcHQwPs4cgEEj341OR1SMZeUovpgTH77f0g=="
OF_MOSQUITTO = f"$7$101${SALT}${KEY}"
DOORS = Doors("mosquitto", "net", "b.local", ("b.local", "127.0.0.1"), (), 8883, 8884)


def test_the_hash_is_mosquittos_own():
    assert mosquitto_hash("abc", base64.b64decode(SALT)) == OF_MOSQUITTO
    assert fits("abc", OF_MOSQUITTO)
    assert not fits("abd", OF_MOSQUITTO)


@given(st.text(max_size=40), st.text(max_size=40))
@settings(deadline=None, max_examples=20)
def test_a_hash_fits_its_password_alone_and_is_another_each_time(password, other):
    line = mosquitto_hash(password)
    assert fits(password, line)
    assert fits(other, line) == (other == password)
    assert mosquitto_hash(password) != line


@pytest.mark.system
def test_mosquitto_passwd_makes_hashes_that_fit(tmp_path):
    require_mosquitto()
    file = tmp_path / "passwords"
    subprocess.run(["mosquitto_passwd", "-c", "-b", file, "n1", "s3cret"], check=True)
    user, _, line = file.read_text().strip().partition(":")
    assert user == "n1"
    assert fits("s3cret", line)


def test_passwords_are_random_and_stand_in_a_url_or_a_file_as_they_are():
    made = {new_password() for _ in range(50)}
    assert len(made) == 50
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{32}", one) for one in made)


def test_the_password_file_has_these_users_and_no_password():
    passwords = {"n1": "first-password", "n2": "second-password", "host": "third"}
    text = password_file(passwords, ["n1", "n2"])
    assert [line.partition(":")[0] for line in text.splitlines()] == ["n1", "n2"]
    assert all(
        fits(passwords[user], line) for user, _, line in (one.partition(":") for one in text.splitlines())
    )
    assert not any(password in text for password in passwords.values())


@given(st.dictionaries(st.integers(1, 99), st.sets(st.integers(1, 99), max_size=4), min_size=1, max_size=6))
@settings(deadline=None, max_examples=40)
def test_the_rules_say_what_the_table_says_and_no_more(near):
    table = access("net", near)
    said = {}
    for line in rules(table).splitlines():
        if line.startswith("user "):
            user = said.setdefault(line.removeprefix("user "), (set(), set()))
        elif line.startswith("topic "):
            _, how, topic = line.split()
            if how in ("write", "readwrite"):
                user[0].add(topic)
            if how in ("read", "readwrite"):
                user[1].add(topic)
    assert said == {one.user: (set(one.publish), set(one.read)) for one in table}


def test_the_configuration_has_two_locked_doors_and_limits(tmp_path):
    text = configuration(BrokerFolder(tmp_path), DOORS, 5)
    lines = text.splitlines()
    assert lines.count("allow_anonymous false") == 2
    assert [line for line in lines if line.startswith("listener")] == ["listener 8883", "listener 8884"]
    nodes, host = text.split("listener 8884")
    assert "use_username_as_clientid true" in nodes
    assert "use_username_as_clientid" not in host
    assert f"{tmp_path}/passwords-nodes" in nodes
    assert f"{tmp_path}/passwords-host" in host
    for limit in (
        "set_tcp_nodelay true",
        "persistence true",
        f"max_packet_size {MAX_PACKET}",
        "max_connections 26",
    ):
        assert limit in lines
    assert "max_queued_messages 0" not in text  # it would drop all


def test_a_door_for_each_address_and_more_room_for_more_nodes(tmp_path):
    bound = Doors("mosquitto", "net", "b", ("b",), ("127.0.0.1", "::1"), 1, 2)
    text = configuration(BrokerFolder(tmp_path), bound, 1000)
    assert re.findall(r"^listener (.*)$", text, re.MULTILINE) == [
        "1 127.0.0.1",
        "2 127.0.0.1",
        "1 ::1",
        "2 ::1",
    ]
    assert "max_connections 2016" in text
    assert "max_queued_messages 20000" in text
