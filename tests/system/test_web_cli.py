"""`--web` on the command line: where it is refused, and the demonstration with its page."""

import json
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import pytest
from servers import LIMIT_S, free_port, running
from web_scene import monitoring

from dcka.config import FILE_NAME, template


def call(*arguments, **options):
    command = [sys.executable, "-m", "dcka.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, **options)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["monitor", "--web", "0.0.0.0:8080"], "--password-file FILE"),
        (["demo", "--web", "[::]:8080"], "--password-file FILE"),
        (["monitor", "--web", "sensors"], "give a port"),
        (["monitor", "--open"], "go with --web"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_started(tmp_path, arguments, word):
    (tmp_path / FILE_NAME).write_text(template())
    done = call(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert word in done.stderr
    assert done.stderr.strip().count("\n") == 0


def test_a_port_that_is_taken_is_a_sentence_and_the_feed_is_for_our_own_names_alone(tmp_path):
    (tmp_path / FILE_NAME).write_text(template())
    port = free_port()
    with (
        running("embedded") as broker,
        monitoring(tmp_path, broker.url, "--no-history", web=str(port)) as monitor,
    ):
        done = call("monitor", "--web", str(port), "--broker", broker.url, "--no-history", cwd=tmp_path)
        assert done.returncode != 0
        assert f"port {port}" in done.stderr
        with urllib.request.urlopen(monitor.url + "events", timeout=LIMIT_S) as feed:
            frame = json.loads(feed.readline().removeprefix(b"data: "))
            assert frame["fresh"] and frame["set"]["network"]["name"] == "sensors"
        foreign = urllib.request.Request(monitor.url + "events", headers={"Host": "evil.example"})
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(foreign, timeout=LIMIT_S)
        refused.value.close()
        assert refused.value.code == 421
        schema = urllib.request.urlopen(monitor.url + "api/v1/openapi.json", timeout=LIMIT_S)
        with schema:
            assert schema.headers["Content-Security-Policy"].startswith("default-src 'none'")
        for name in ("docs", "redoc"):
            with pytest.raises(urllib.error.HTTPError) as absent:
                urllib.request.urlopen(monitor.url + name, timeout=LIMIT_S)
            absent.value.close()
            assert absent.value.code == 404


def test_the_demonstration_has_a_page_with_both_runs_and_their_verdicts(tmp_path):
    command = [sys.executable, "-m", "dcka.cli", "demo", "--runtime", "cpython", "--no-history"]
    process = subprocess.Popen(
        [*command, "--web", "0", "--out", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        url = ""
        for line in process.stderr:
            url = url or "".join(re.findall(r"http://\S+/", line))
            if "Ctrl-C ends it" in line:
                break
        with urllib.request.urlopen(url + "events", timeout=LIMIT_S) as feed:
            values = json.loads(feed.readline().removeprefix(b"data: "))["set"]
        assert [(run["number"], run["verdict"]) for run in values["runs"]] == [(2, "PASS"), (1, "PASS")]
        assert values["verdict"]["verdict"] == "PASS"
        assert len(values["verdict"]["reference"]) == 9
        with urllib.request.urlopen(f"{url}page/runs/1", timeout=LIMIT_S) as first:
            told = json.load(first)
        assert told["run"]["parameters"]["kind"] == "gossip"
        assert told["run"]["finished"]
        dataset = told["run"]["parameters"]["dataset"]
        with urllib.request.urlopen(f"{url}page/points/{dataset}", timeout=LIMIT_S) as points:
            assert json.load(points)["total"] == 4500
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=LIMIT_S)
        assert process.returncode == 0
        assert out.startswith("PASS")
    finally:
        process.kill()
        process.communicate()
