"""Passwords come from a file, the environment or a prompt, in this order, and show nowhere."""

import os
from pathlib import Path

import pytest

from dcka.boards.secrets import Secrets, Sources, gathered
from dcka.broker.password_files import read_password_file
from dcka.errors import UsageError

WIFI, BROKER = "correct horse", "battery staple"


def password_file(folder, text, mode=0o600):
    file = folder / "password.txt"
    file.write_text(text)
    file.chmod(mode)
    return file


def asked(what):
    raise AssertionError(f"asked for {what}")


def test_nothing_is_asked_where_nothing_is_needed():
    assert gathered(Sources(environ={}, prompt=asked), None, None) == Secrets()


def test_a_file_goes_before_the_environment_and_that_before_a_prompt(tmp_path):
    environ = {"DCKA_WIFI_PASSWORD": "from environ", "DCKA_BROKER_PASSWORD": BROKER}
    file = password_file(tmp_path, WIFI + "\nsecond line\n")
    assert gathered(Sources(file, None, environ, asked), "attic", "grower") == Secrets(WIFI, BROKER)
    assert gathered(Sources(environ=environ, prompt=asked), "attic", None) == Secrets("from environ")
    said = []
    answer = gathered(Sources(environ={}, prompt=lambda what: said.append(what) or WIFI), "attic", "grower")
    assert answer == Secrets(WIFI, WIFI)
    assert said == ['the password of the Wi-Fi network "attic"', 'the password of "grower" at the broker']


def test_without_any_the_ways_are_told():
    with pytest.raises(UsageError, match="set DCKA_WIFI_PASSWORD, or give --wifi-password-file FILE"):
        gathered(Sources(environ={}), "attic", None)
    with pytest.raises(UsageError, match="set DCKA_BROKER_PASSWORD, or give --broker-password-file FILE"):
        gathered(Sources(environ={}), None, "grower")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660])
def test_a_file_that_others_may_read_is_refused(tmp_path, mode):
    with pytest.raises(UsageError, match="chmod 600") as caught:
        read_password_file(password_file(tmp_path, WIFI, mode))
    assert WIFI not in str(caught.value)


def test_a_file_that_is_not_there_or_no_text_is_refused(tmp_path):
    with pytest.raises(UsageError, match="cannot be read"):
        read_password_file(tmp_path / "missing")
    file = tmp_path / "bytes"
    file.write_bytes(b"\xff\xfe")
    file.chmod(0o600)
    with pytest.raises(UsageError, match="no UTF-8"):
        read_password_file(file)


def test_a_pipe_is_read_as_a_file_is():
    reader, writer = os.pipe()
    try:
        os.write(writer, WIFI.encode() + b"\r\n")
        assert read_password_file(Path(f"/dev/fd/{reader}")) == WIFI
    finally:
        os.close(reader)
        os.close(writer)


@pytest.mark.parametrize("password", ["", "12345678", "x" * 63, "0123456789abcdefABCDEF" * 2 + "0" * 20])
def test_what_an_access_point_accepts_passes(password):
    assert gathered(Sources(environ={"DCKA_WIFI_PASSWORD": password}), "attic", None) == Secrets(password)


@pytest.mark.parametrize("password", ["short12", "x" * 64, "y" * 70])
def test_what_none_accepts_is_refused_without_being_said(password):
    with pytest.raises(UsageError, match=f"has {len(password)}") as caught:
        gathered(Sources(environ={"DCKA_WIFI_PASSWORD": password}), "attic", None)
    assert password not in str(caught.value)
