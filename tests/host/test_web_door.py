"""Who gets in at the page: no foreign name, no foreign site's page, and beyond loopback nobody without the password."""

import base64

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from dcka.errors import UsageError
from dcka.web.door import WRONG_S, Door
from dcka.web.server import SHORTEST, VARIABLE, required_password


async def answer(request):
    return PlainTextResponse("in")


APP = Starlette(routes=[Route("/", answer, methods=["GET", "POST"])])


def client(door, host="127.0.0.1:8080"):
    return TestClient(door, base_url=f"http://{host}")


def basic(password, user="anybody"):
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


@pytest.mark.parametrize("host", ["127.0.0.1:8080", "localhost:8080", "LOCALHOST", "[::1]:8080", "127.9.9.9"])
def test_our_own_names_get_in(host):
    assert client(Door(APP), host).get("/").text == "in"


@pytest.mark.parametrize(
    "host", ["evil.example:8080", "127.0.0.1.evil.example", "10.0.0.5:8080", "localhost.evil.example"]
)
def test_a_name_that_is_made_to_point_to_us_does_not(host):
    refused = client(Door(APP), host).get("/")
    assert refused.status_code == 421
    assert refused.text != "in"


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_sites_page_may_ask_nothing_but_follow_a_link(site):
    door = client(Door(APP))
    assert door.get("/", headers={"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"}).status_code == 403
    assert door.get("/", headers={"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate"}).status_code == 200
    assert door.post("/", headers={"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate"}).status_code == 403


def test_what_changes_something_needs_our_origin_and_our_token():
    door = Door(APP)
    ours = {"Origin": "http://127.0.0.1:8080", "X-Dcka-Token": door.token}
    assert client(door).post("/", headers=ours).text == "in"
    for wrong in (
        {"Origin": ours["Origin"]},
        {"X-Dcka-Token": door.token},
        ours | {"Origin": "http://evil.example"},
        ours | {"Origin": "null"},
        ours | {"X-Dcka-Token": "guess"},
    ):
        assert client(door).post("/", headers=wrong).status_code == 403


def test_beyond_loopback_the_password_is_asked_for_and_any_name_does():
    door = Door(APP, "correct horse")
    refused = client(door, "sensors.example").get("/")
    assert refused.status_code == 401
    assert refused.headers["www-authenticate"].startswith("Basic")
    assert client(door, "sensors.example").get("/", headers=basic("correct horse")).text == "in"


def test_after_a_wrong_password_nobodys_is_looked_at_for_a_while(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("dcka.web.door.time.monotonic", lambda: now[0])
    door = client(Door(APP, "correct horse"))
    for bad in (basic("wrong"), {"Authorization": "Basic %%%"}, {"Authorization": "Bearer correct horse"}):
        assert door.get("/", headers=bad).status_code == 401
    assert door.get("/", headers=basic("correct horse")).status_code == 401
    now[0] += WRONG_S + 0.01
    assert door.get("/", headers=basic("correct horse")).status_code == 200


def test_every_answer_forbids_foreign_code_frames_and_guesses_of_the_type():
    for answered in (client(Door(APP)).get("/"), client(Door(APP), "evil.example").get("/")):
        policy = answered.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answered.headers["x-content-type-options"] == "nosniff"
        assert answered.headers["cross-origin-resource-policy"] == "same-origin"


def test_beyond_loopback_no_password_is_refused_and_how_to_set_one_is_said(monkeypatch, tmp_path):
    monkeypatch.delenv(VARIABLE, raising=False)
    assert required_password("127.0.0.1", None) is None
    assert required_password("::1", None) is None
    with pytest.raises(UsageError, match=rf"--password-file FILE.*{VARIABLE}"):
        required_password("0.0.0.0", None)
    file = tmp_path / "password"
    file.write_text("correct horse\n")
    file.chmod(0o600)
    assert required_password("0.0.0.0", file) == "correct horse"
    file.chmod(0o644)
    with pytest.raises(UsageError, match="chmod 600"):
        required_password("0.0.0.0", file)
    monkeypatch.setenv(VARIABLE, "x" * (SHORTEST - 1))
    with pytest.raises(UsageError, match="characters"):
        required_password("0.0.0.0", None)
