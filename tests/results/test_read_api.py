"""The read API: what it answers is what is stored, as its own description has it, whatever is asked."""

import json
import re
import threading
import urllib.request
from urllib.parse import quote

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

import dcka
from dcka.cli.monitor_web import Wish, page
from dcka.history import HistoryError, open_history
from dcka.monitor.state import NetworkState
from dcka.web.api import OPENAPI, PREFIX, application
from dcka.web.control import Control

LAWS = settings(
    derandomize=True,
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


@pytest.fixture(scope="module")
def history(stored):
    with open_history(str(stored[0]), readonly=True) as opened:
        yield opened


@pytest.fixture(scope="module")
def client(history):
    with TestClient(application(history), raise_server_exceptions=True) as client:
        yield client


@pytest.fixture(scope="module")
def description(client):
    return client.get(OPENAPI).json()


def got(client, path, **parameters):
    answer = client.get(PREFIX + path, params=parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_networks_and_runs_in_pages(client):
    assert got(client, "/networks") == [{"network": "greenhouse", "runs": 3}, {"network": "lab", "runs": 2}]
    seen, before = [], None
    while True:
        page = got(client, "/runs", limit=2, **({} if before is None else {"before": before}))
        seen += [(run["network"], run["run"]) for run in page["runs"]]
        before = page["next"]
        if before is None:
            break
        assert len(page["runs"]) == 2
    assert seen == [("lab", 2), ("lab", 1), ("greenhouse", 3), ("greenhouse", 2), ("greenhouse", 1)]
    assert {run["network"] for run in got(client, "/runs", network="lab")["runs"]} == {"lab"}
    assert {run["kind"] for run in got(client, "/runs", kind=["gossip", "survey"])["runs"]} == {"gossip"}
    assert got(client, "/runs", state="failed") == {"runs": [], "next": None}


def test_a_run_is_what_results_say_of_it(client, stored):
    run = dcka.results.load("greenhouse/2", history=str(stored[0]))
    told = got(client, "/runs/2", network="greenhouse")
    assert (told["uid"], told["ssd"], told["columns"]) == (run.stored.uid, run.ssd, ["x", "y"])
    assert told["record"] == run.stored.run_record and told["lost_steps"] == []
    assert got(client, f"/runs/{run.stored.uid}") == told
    centroids = got(client, f"/runs/{run.stored.uid}/centroids")
    assert centroids["centroids"] == run.centroids.tolist() and centroids["counts"] == run.counts.tolist()
    results = got(client, f"/runs/{run.stored.uid}/results")["results"]
    assert results == {str(node): result for node, result in run.nodes.items()}
    assert got(client, "/runs/last")["network"] == "lab"


def test_steps_in_pages(client, stored):
    run = dcka.results.load("greenhouse/2", history=str(stored[0]))
    seen, since = [], 0
    while since is not None:
        page = got(client, "/runs/2/steps", network="greenhouse", since=since, limit=3)
        assert 1 <= len(page["steps"]) <= 3
        seen += page["steps"]
        since = page["next"]
    assert [step["step"] for step in seen] == list(range(len(run.steps)))
    assert [step["centres"] for step in seen] == run.centroids_per_step.tolist()
    assert [step["ssd"] for step in seen] == run.ssd_per_step.tolist()


def test_entity_tags(client):
    first = client.get(f"{PREFIX}/runs")
    tag = first.headers["etag"]
    for known in (tag, f'"other", W/{tag}', "*"):
        again = client.get(f"{PREFIX}/runs", headers={"If-None-Match": known})
        assert again.status_code == 304 and not again.content and again.headers["etag"] == tag
    other = client.get(f"{PREFIX}/runs", headers={"If-None-Match": '"other"'})
    assert other.status_code == 200 and other.json() == first.json()
    assert client.get(f"{PREFIX}/runs", params={"limit": 1}).headers["etag"] != tag


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/runs/99", 404, "has no run 99"),
        ("/runs/1", 404, "several networks have a run 1"),
        ("/runs/nonsense/steps", 404, "has no run nonsense"),
        ("/runs?limit=0", 422, "limit = 0: input should be greater than or equal to 1"),
        ("/runs?limit=many", 422, "limit = many: input should be a valid integer"),
        ("/runs?state=failing", 422, "state = failing: input should be 'running', 'finished'"),
        ("/runs?kind=forest", 422, "kind.0 = forest: input should be 'tree'"),
        ("/runs?before=-1", 422, "before = -1:"),
        ("/runs/last/steps?since=x&limit=0", 422, "; limit = 0:"),
        ("/runs/" + "9" * 300, 422, "ref = 999"),
        ("/nowhere", 404, "there is nothing here"),
    ],
)
def test_refusals_are_sentences(client, path, status, words):
    answer = client.get(PREFIX + path)
    assert answer.status_code == status and words in answer.json()["detail"]
    assert "\n" not in answer.json()["detail"] and "etag" not in answer.headers


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_nothing_can_be_changed(client, method):
    answer = client.request(method, f"{PREFIX}/runs/last")
    assert answer.status_code == 405 and answer.json() == {
        "detail": "results are read, with GET, and not changed"
    }
    assert answer.headers["allow"] == "GET"


def test_a_history_that_cannot_be_read_is_told(stored):
    class Broken:
        def runs(self, *_, **__):
            raise HistoryError("the history x cannot be read: the disk is full")

    with TestClient(application(Broken())) as client:
        answer = client.get(f"{PREFIX}/runs")
    assert answer.status_code == 503 and "the disk is full" in answer.json()["detail"]


def test_the_monitors_page_serves_it_too(history, capsys):
    state, lock = NetworkState("greenhouse", (1, 2, 3, 4, 5)), threading.Lock()
    wish = Wish("127.0.0.1", 0, None, False)
    with page(wish, state, "mqtt://nowhere", lock, Control(None, "a test"), history=history):
        url = re.search(r"http://\S+/", capsys.readouterr().err)[0]
        with urllib.request.urlopen(f"{url}api/v1/runs/2?network=greenhouse", timeout=60) as answer:
            assert json.loads(answer.read())["uid"] == history.run("greenhouse/2").uid
        with urllib.request.urlopen(f"{url}api/v1/openapi.json", timeout=60) as answer:
            assert f"{PREFIX}/runs/{{ref}}/steps" in json.loads(answer.read())["paths"]


def test_no_page_loads_from_the_internet(client, description):
    for path in ("/docs", "/redoc"):
        assert client.get(path).status_code == 404
    assert description["openapi"].startswith("3.1") and description["info"]["version"] == dcka.__version__
    assert "://" not in json.dumps(description)


def test_the_description_is_whole(description):
    """Every route, each answer with its model, each parameter and path with words."""
    assert set(description["paths"]) == {
        f"{PREFIX}/{path}"
        for path in (
            "networks",
            "runs",
            "runs/{ref}",
            "runs/{ref}/centroids",
            "runs/{ref}/steps",
            "runs/{ref}/results",
        )
    }
    for path, methods in description["paths"].items():
        assert set(methods) == {"get"} and methods["get"]["description"]
        expected = {"200", "304", "422", "503"} | ({"404"} if "{ref}" in path else set())
        assert set(methods["get"]["responses"]) == expected
        assert all(one.get("description") for one in methods["get"].get("parameters", []))


texts = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        ["last", "1", "greenhouse", "lab", "tree", "gossip", "finished", "0", "-1", "nan", "1e9", "%00", ".."]
    ),
    st.integers(-(2**70), 2**70).map(str),
    st.text("0123456789abcdef", min_size=1, max_size=16),
)


@LAWS
@given(st.data())
def test_whatever_is_asked_the_answer_is_as_described(client, description, data):
    """Each answer has a status that the description names, and the form that it gives it; refusals are sentences."""
    path = data.draw(st.sampled_from(sorted(description["paths"])))
    described = description["paths"][path]["get"]
    parameters = {
        one["name"]: data.draw(texts)
        for one in described.get("parameters", [])
        if one["in"] == "query" and data.draw(st.booleans())
    }
    ref = data.draw(texts.filter(lambda text: text not in ("", ".", "..") and "/" not in text))
    answer = client.get(path.replace("{ref}", quote(ref, safe="")), params=parameters)
    assert str(answer.status_code) in described["responses"], answer.text
    schema = described["responses"][str(answer.status_code)]["content"]["application/json"]["schema"]
    jsonschema.Draft202012Validator({**schema, "components": description["components"]}).validate(
        answer.json()
    )
    if answer.status_code != 200:
        assert answer.json()["detail"] and "Traceback" not in answer.text
    # Bodies are JSON as everybody reads it: no NaN.
    json.loads(answer.text, parse_constant=lambda word: pytest.fail(word))
