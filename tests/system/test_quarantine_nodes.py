"""Somebody forges messages of a node, on a broker that lets him: its neighbours quarantine it, and the run says so."""

import json
import threading
from contextlib import contextmanager

import pytest
from by_hand import RUNTIMES
from servers import TestClient, running
from test_run_missing import NODES, SLOW, Watched, victims

from dcka.cli import main
from dcka.config import template
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


@contextmanager
def forged(broker, topic):
    """After each message on the topic comes another with a byte too many, until the end."""
    over = threading.Event()

    def forge(client):
        while not over.is_set():
            message = client.next(60)
            if message.payload and not message.payload.endswith(b"\x00forged"):
                client.publish(topic, message.payload + b"\x00forged")

    with TestClient(broker.address, "forger") as client:
        client.subscribe(topic)
        thread = threading.Thread(target=forge, args=(client,))
        thread.start()
        try:
            yield
        finally:
            over.set()
            client.publish(topic, b"over")
            thread.join()


def test_a_node_whose_messages_are_forged_is_quarantined_and_the_run_is_partial(watched, capsys):
    with watched.run() as call:
        victim = victims(watched)[0]
        with forged(watched.broker, f"dcka/{watched._network}/x/0/{victim}"):
            record = call.record()
            assert call.ended(by=None) == 1
    assert record["finished"] is True
    assert list(record["quarantined"]) == [str(victim)]
    assert set(record["quarantined"][str(victim)].values()) == {"malformed"}
    assert record["missing"] == [victim]
    capsys.readouterr()
    code = main(["check", "--json", "--network", str(watched._folder / "network.toml")])
    verdict = json.loads(capsys.readouterr().out)
    assert (code, verdict["verdict"], verdict["replay_identical"]) == (1, "PARTIAL", True), verdict["reasons"]
    assert verdict["quarantined"] == record["quarantined"]
    assert any(f"node {victim} is in quarantine at node" in reason for reason in verdict["reasons"])
