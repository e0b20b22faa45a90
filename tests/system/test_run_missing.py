"""`dcka run` and `dcka check` where nodes have gone: real nodes of both runtimes lose their power in mid-run."""

import json
from contextlib import contextmanager

import pytest
from by_hand import RUNTIMES
from running_call import Call
from servers import TestClient, running, wait_until

from dcka.cli import main
from dcka.config import template
from dcka.emulation.air import Faults
from dcka.emulation.faults import FaultyRadio

NODES = (1, 2, 3, 4, 5)
# With it a step takes some hundredths of a second: what is to happen in mid-run does.
SLOW = Faults(delay_ms=10)


class Watched:
    """A network with its data; `run(…)` is a call of `dcka run` in it, and `said` what the network says meanwhile."""

    def __init__(self, folder, network, broker, nodes):
        self.nodes, self.broker = nodes, broker
        self._folder, self._network = folder, network
        self.call, self._eye, self.said = None, None, {}

    @contextmanager
    def run(self, *arguments):
        """Begins a run of the tree, and waits for its first step; `root` and `members` are known then."""
        options = ["--broker", self.broker.url, "--patience-ms", "100", "--k", "9", "--json"]
        with TestClient(self.broker.address, "eye") as self._eye:
            self._eye.subscribe(*(f"dcka/{self._network}/{kind}" for kind in ("step/+", "status/+")))
            self.call = Call(self._folder, "run", *options, *arguments)
            try:
                self.until(lambda: any(kind == "step" for kind, _ in self.said), "a first step")
                yield self.call
            finally:
                if self.call._process.poll() is None:
                    self.call.ended()
                self.said.clear()

    def until(self, condition, what):
        """Take in what comes until `condition` holds."""

        def look():
            while not self._eye.messages.empty():
                message = self._eye.messages.get()
                _, _, kind, node = message.topic.split("/")
                if message.payload:
                    self.said[kind, int(node)] = json.loads(message.payload)
            return condition()

        wait_until(look, what, 20)

    @property
    def root(self):
        return next(node for kind, node in self.said if kind == "step")

    def stalled(self):
        """Whom the roots miss that say they are stalled."""
        return [
            said["waiting"]
            for (kind, _), said in self.said.items()
            if kind == "status" and said.get("stalled")
        ]


@pytest.fixture(scope="module", params=RUNTIMES)
def watched(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    network = f"missing-{request.param}"
    (folder / "network.toml").write_text(template({"network": {"name": network}}))
    with (
        running("embedded") as broker,
        FaultyRadio(lambda: broker.address, SLOW) as radio,
        RUNTIMES[request.param](network, NODES, radio.address) as nodes,
    ):
        where = ["--network", str(folder / "network.toml")]
        assert main(["inject", "--data", "gaussians", "--broker", broker.url, *where]) == 0
        yield Watched(folder, network, broker, nodes)


@pytest.fixture
def check(watched, capsys):
    """(exit code, the object) of `dcka check`."""

    def call(*arguments):
        capsys.readouterr()
        code = main(["check", "--json", "--network", str(watched._folder / "network.toml"), *arguments])
        return code, json.loads(capsys.readouterr().out)

    return call


@pytest.fixture
def all_there(watched):
    yield
    for node in NODES:
        watched.nodes.restart(node)


def victims(watched):
    """Three nodes, none of them the root."""
    return [node for node in NODES if node != watched.root][:3]


def test_with_three_of_five_gone_it_stalls_and_says_whom_it_misses(watched, check, all_there):
    with watched.run("--limit", "4") as call:
        gone = victims(watched)
        for node in gone:
            watched.nodes.kill(node)
        record = call.record()
        assert call.ended(by=None) == 1
    assert (record["finished"], record["waiting"]) == (False, gone)
    assert record["reason"].startswith("stalled: more than half of the 5 nodes must be there, and node")
    assert record["reason"].endswith(f" nodes {gone[0]}, {gone[1]} and {gone[2]}")
    assert call.errors[-1] == f"dcka: run {record['run']} did not finish: {record['reason']}"
    assert any(line.startswith("waiting: stalled: ") for line in call.errors)
    code, verdict = check("--allow-partial")
    assert (code, verdict["verdict"]) == (1, "FAIL")


def test_when_one_of_them_is_back_it_goes_on_without_the_two_others(watched, check, all_there):
    with watched.run("--allow-partial") as call:
        gone = victims(watched)
        for node in gone:
            watched.nodes.kill(node)
        watched.until(watched.stalled, "a root that stalls")
        watched.nodes.restart(gone[0])
        record = call.record()
        assert call.ended(by=None) == 0
    assert record["finished"] is True
    assert set(gone[1:]) <= set(record["missing"]) <= set(gone)
    assert f"note: run {record['run']} is partial: it went on without nodes " in "\n".join(call.errors)
    code, verdict = check()
    assert (code, verdict["verdict"], verdict["replay_identical"]) == (1, "PARTIAL", True), verdict["reasons"]
    assert verdict["missing"] == record["missing"]
    assert check("--allow-partial")[0] == 0


def test_a_partial_run_is_1_unless_it_is_allowed(watched, all_there):
    with watched.run() as call:
        gone = victims(watched)[0]
        watched.nodes.kill(gone)
        record = call.record()
        assert call.ended(by=None) == 1
    assert (record["finished"], record["missing"]) == (True, [gone])
    assert call.errors[-1] == (
        f"dcka: run {record['run']} is partial: it went on without node {gone}; run again once all are there, or take"
        " it with --allow-partial"
    )
