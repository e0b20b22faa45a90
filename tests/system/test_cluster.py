"""A cluster of three real NATS servers: nodes of both runtimes spread over it, and it loses a server in mid-run."""

import contextlib
from collections.abc import Iterator

import pytest
from by_hand import RUNTIMES

from dcka.broker import BrokerUrl
from dcka.broker.cluster import ClusterServer, LocalCluster, await_all
from dcka.broker.url import joined
from dcka.config import from_mapping
from dcka.datasets import gaussians
from dcka.emulation.air import Faults
from dcka.emulation.faults import FaultyRadio
from dcka.inject.transfer import send
from dcka.mqtt import Connection
from dcka.runs.controller import run
from dcka.runs.outcome import Outcome, decode_commit
from dcka.runs.plan import plan
from dcka.runs.survey import survey

NODES = (1, 2, 3, 4, 5)
DATA = gaussians(3, len(NODES), 20)
# With it a step takes some hundredths of a second: what is to happen in mid-run does.
SLOW = Faults(delay_ms=10)
# Longer than the servers that are left take to agree on new leaders, before which nobody is let in.
PATIENCE_MS = 6000
ELECTION_S = 40.0
"""They take up to 10 s; this is for a loaded machine."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(clients=20) as started:
        yield started


@pytest.fixture
def whole(cluster: LocalCluster) -> Iterator[LocalCluster]:
    """The cluster with all its servers, before the test and after it."""
    yield cluster
    for server in cluster.servers:
        server.start()
    await_all(cluster.url.addresses)


def last_commits(outcome: Outcome) -> dict[int, object]:
    """What every node holds in the end; nobody was ever left out."""
    assert outcome.finished, outcome.reason
    commits = {node: decode_commit(outcome, node) for node in NODES}
    return {
        node: (commit.step, commit.missing, list(commit.centres), list(commit.counts), commit.ssd)
        for node, commit in commits.items()
        if commit is not None
    }


@contextlib.contextmanager
def slow_ways(cluster: LocalCluster) -> Iterator[BrokerUrl]:
    """A way to each server that takes its time."""
    with contextlib.ExitStack() as stack:
        radios = [
            stack.enter_context(FaultyRadio(lambda to=address: to, SLOW)) for address in cluster.url.addresses
        ]
        yield joined([radio.address for radio in radios])


@pytest.mark.timeout(180)
@pytest.mark.parametrize("victim", [0, 1])
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_server_that_is_killed_in_a_run_does_not_change_its_outcome(
    whole: LocalCluster, runtime: str, victim: int
) -> None:
    """The host's own server (0), or another."""
    network = f"killed-{runtime}-{victim}"
    config = from_mapping({"run": {"k": 9, "patience_ms": PATIENCE_MS}})
    killed: list[ClusterServer] = []

    def kill(event: str, data: dict[str, int]) -> None:
        if event == "step" and data["step"] == 2 and not killed:
            killed.append(whole.servers[victim])
            killed[0].kill()

    with (
        slow_ways(whole) as ways,
        RUNTIMES[runtime](network, NODES, ways) as nodes,
        Connection(whole.url, network) as connection,
    ):
        send(connection, DATA)
        sizes = survey(connection, NODES).max_message
        first = plan(config, DATA.record(), 1, max_message=sizes)
        undisturbed = last_commits(run(connection, first))
        again = plan(config, DATA.record(), 2, max_message=sizes)
        outcome = run(connection, again, on_event=kill)
        assert killed
        assert last_commits(outcome) == undisturbed
        assert nodes.failures() == []
