"""An emulated board and a broker with locks: it is let in by what provisioning gave it, and by nothing older."""

import pytest
from board_bench import caller
from secured import NETWORK, Secured
from servers import LIMIT_S

from dcka.boards.emulated import EmulatedBoard
from dcka.broker.access import HOST
from dcka.emulation.micropython import available
from dcka.mqtt import Connection, Message
from dcka.security.members import rotate

pytestmark = pytest.mark.skipif(not available(), reason=str(available().reason))


@pytest.fixture
def call(tmp_path, monkeypatch, capfd):
    monkeypatch.delenv("DCKA_BROKER_PASSWORD", raising=False)
    return caller(tmp_path, monkeypatch, capfd)


def _state_of(network, node):
    """What the broker keeps of a node's status."""
    with Connection(network.way(HOST), NETWORK) as host:
        host.subscribe(f"status/{node}")
        said = host.next(LIMIT_S)
        assert isinstance(said, Message)
        return said.payload.decode()


def test_a_board_joins_through_tls_with_its_own_password_and_after_a_rotation_with_the_new_one_alone(
    call, tmp_path
):
    network = Secured(tmp_path, nodes=3)
    with network.up(), EmulatedBoard(tmp_path / "board") as board:
        first = call("provision", "--port", board.port, "--node", "2", "--json")
        assert first.code == 0, first.err
        assert first.json["boards"][0]["joined"]
        assert '"state": "ready"' in _state_of(network, 2).replace('":"', '": "')

        rotate(network.config, network.folder, network.doors, "2")
        assert '"offline"' in _state_of(network, 2)
        doctor = call("doctor", "--port", board.port, "--json", boards=(board,))
        assert doctor.code != 0
        assert "password" in doctor.out

        again = call("provision", "--port", board.port, "--node", "2", "--json")
        assert again.code == 0, again.err
        assert again.json["boards"][0]["joined"]
        # Of all that is on the board a password changes node.json, and what names the version.
        sent = {path.rpartition("/")[2] for path in again.json["boards"][0]["sent"]}
        assert sent == {"version.json", "node.json", "main.py"}
