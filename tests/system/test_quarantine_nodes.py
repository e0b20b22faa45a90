"""Somebody forges messages of a node, on a broker that lets him: its neighbours quarantine it, and the run says so."""

import json
import threading
from contextlib import contextmanager

import pytest
from by_hand import RUNTIMES
from servers import TestClient, running
from test_run_missing import NODES, Watched, victims

from dcka.cli import main
from dcka.config import template
from dcka.emulation.air import Faults
from dcka.emulation.faults import FaultyRadio


@pytest.fixture(params=RUNTIMES)
def watched(request, tmp_path):
    network = f"forged-{request.param}"
    (tmp_path / "network.toml").write_text(template({"network": {"name": network}}))
    with (
        running("embedded") as broker,
        FaultyRadio(lambda: broker.address, SLOW) as radio,
        RUNTIMES[request.param](network, NODES, radio.address) as nodes,
    ):
        where = ["--network", str(tmp_path / "network.toml")]
        assert main(["inject", "--data", "gaussians", "--broker", broker.url, *where]) == 0
        yield Watched(tmp_path, network, broker, nodes)


# Slow enough that somebody can forge in mid-run, on a machine that has other things to do.
SLOW = Faults(delay_ms=30)


@contextmanager
def forger(broker, network):
    """A list of nodes: each message of sums of one of them is followed by four with some bytes too many."""
    forged = []
    over = f"dcka/{network}/x/0/over"

    def forge(client):
        message = client.next(60)
        while message.topic != over:
            if int(message.topic.rpartition("/")[2]) in forged and not message.payload.endswith(b"forged"):
                for _ in range(4):
                    client.publish(message.topic, message.payload + b"forged")
            message = client.next(60)

    with TestClient(broker.address, "forger") as client:
        client.subscribe(f"dcka/{network}/x/0/+")
        thread = threading.Thread(target=forge, args=(client,))
        thread.start()
        try:
            yield forged
        finally:
            client.publish(over)
            thread.join()


def test_a_node_whose_messages_are_forged_is_quarantined_and_the_run_is_partial(watched, capsys):
    with forger(watched.broker, watched._network) as forged, watched.run() as call:
        victim = victims(watched)[0]
        forged.append(victim)
        record = call.record()
        assert call.ended(by=None) == 1
    assert record["finished"] is True
    assert list(record["quarantined"]) == [str(victim)]
    assert set(record["quarantined"][str(victim)].values()) == {"malformed"}
    # In a network as slow as this, others may be given up for a step, too.
    assert victim in record["missing"]
    capsys.readouterr()
    code = main(["check", "--json", "--network", str(watched._folder / "network.toml")])
    verdict = json.loads(capsys.readouterr().out)
    assert (code, verdict["verdict"], verdict["replay_identical"]) == (1, "PARTIAL", True), verdict["reasons"]
    assert verdict["quarantined"] == record["quarantined"]
    assert any(f"node {victim} is in quarantine at node" in reason for reason in verdict["reasons"])
