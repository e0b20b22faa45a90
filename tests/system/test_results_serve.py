"""`dcka results serve`: answers on loopback, asks for a password beyond it, and ends when it is told to."""

import base64
import json
import urllib.error
import urllib.request

import pytest
from running_call import Call
from servers import LIMIT_S
from stored_runs import store

import dcka
from dcka.cli import main


@pytest.fixture(scope="module")
def history(tmp_path_factory):
    file = tmp_path_factory.mktemp("served") / "history.sqlite"
    store(file, numbers=(1, 2))
    return file


def asked(url, **headers):
    """(status, JSON or text of the body)."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=LIMIT_S) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_it_serves_what_is_stored(tmp_path, history):
    call = Call(tmp_path, "results", "serve", "0", "--history", str(history), "--json")
    told = call.record()
    assert told["url"].startswith("http://127.0.0.1:") and told["history"] == str(history)
    assert asked(told["openapi"])[1]["info"]["title"] == "dcka results"
    status, centroids = asked(told["url"] + "runs/last/centroids")
    assert status == 200
    assert centroids["centroids"] == dcka.results.load(history=str(history)).centroids.tolist()
    # A page of the internet whose name was made to point to loopback.
    assert asked(told["url"] + "runs", Host="evil.example")[0] == 421
    call.said("describes them")
    assert call.ended() == 0


def test_with_a_password_nobody_gets_in_without(tmp_path, history):
    file = tmp_path / "password"
    file.touch(0o600)
    file.write_text("correct horse\n", "utf-8")
    call = Call(
        tmp_path,
        "results",
        "serve",
        "0.0.0.0:0",
        "--history",
        str(history),
        "--password-file",
        str(file),
        "--json",
    )
    url = call.record()["url"].replace("0.0.0.0", "127.0.0.1")
    right = base64.b64encode(b"anybody:correct horse").decode()
    assert asked(url + "runs")[0] == 401
    assert asked(url + "runs", Authorization=f"Basic {right}")[0] == 200
    call.said("for whoever has the password")
    assert call.ended() == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("0.0.0.0:0",), "stored runs need a password"),
        (("nonsense",), "give a port, such as 8090"),
        (("0", "--history", "none.sqlite"), "there is no history yet"),
    ],
)
def test_refusals(capsys, history, arguments, words):
    given = arguments if "--history" in arguments else (*arguments, "--history", str(history))
    assert main(("results", "serve", *given, "--json")) == 2
    told = capsys.readouterr()
    assert told.out == "" and len(told.err.splitlines()) == 1 and words in told.err
