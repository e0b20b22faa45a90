"""`dcka board provision` as a person calls it, with emulated boards."""

import json
import re

import pytest
from board_bench import NETWORK, caller, write_network
from board_versions import heard

from dcka.boards import ports
from dcka.boards.emulated import EmulatedBoard
from dcka.boards.ports import PortInfo
from dcka.broker import open_broker

MACS = [f"24:0a:c4:00:00:0{number}" for number in range(1, 6)]
GONE = "/dev/pts/99999"
KEYS = [
    "port", "mac", "node", "network", "folder", "sent", "copied", "skipped", "bytes", "joined", "seconds", "error",
]  # fmt: skip


@pytest.fixture
def call(tmp_path, monkeypatch, capfd):
    monkeypatch.delenv("DCKA_BROKER_PASSWORD", raising=False)
    monkeypatch.delenv("DCKA_WIFI_PASSWORD", raising=False)
    return caller(tmp_path, monkeypatch, capfd)


def named(mac):
    """As on a chip, MicroPython knows its MAC; elsewhere the bootloader is asked, which takes a second."""
    digits = bytes.fromhex(mac.replace(":", ""))
    return {"lib/machine.py": f"def unique_id():\n    return {digits!r}\n".encode()}


@pytest.fixture
def boards(tmp_path):
    """Blank boards by their number, plugged in when they are asked for."""
    made = {}

    def board(number):
        if number not in made:
            mac = MACS[number - 1]
            made[number] = EmulatedBoard(tmp_path / f"board{number}", mac=mac, extra_files=named(mac))
            made[number].plug_in()
        return made[number]

    yield board
    for one in made.values():
        one.unplug()


@pytest.fixture(scope="module")
def broker():
    with open_broker("embedded") as running:
        yield running.url


def test_four_boards_at_once_and_one_is_gone(call, boards, broker, tmp_path):
    write_network(tmp_path, nodes=4, broker=broker)
    plugged = [boards(number) for number in (1, 2, 3)]
    arguments = [argument for board in plugged for argument in ("--port", board.port)]
    outcome = call("provision", *arguments, "--port", GONE, "--json")
    assert outcome.code == 3
    record = outcome.json
    assert (record["provisioned"], record["failed"]) == (3, 1)
    assert all(list(one) == KEYS for one in record["boards"])
    rows = {one["port"]: one for one in record["boards"]}
    assert {rows[board.port]["mac"] for board in plugged} == set(MACS[:3])
    assert {rows[board.port]["node"] for board in plugged} == {1, 2, 3}
    assert all(rows[board.port]["joined"] and rows[board.port]["error"] is None for board in plugged)
    assert all(rows[board.port]["network"] == NETWORK for board in plugged)
    gone = rows[GONE]
    assert (gone["node"], gone["joined"], gone["sent"]) == (None, None, [])
    assert f"there is no port {GONE}" in gone["error"]
    assert outcome.err.count(f"there is no port {GONE}") == 1


def test_the_second_time_nothing_travels_and_boards_that_swapped_ports_keep_their_ids(
    call, boards, broker, tmp_path
):
    write_network(tmp_path, nodes=3, broker=broker)
    one, two = boards(1), boards(2)
    first = call("provision", "--port", two.port, "--node", "3", "--json")
    assert first.code == 0, first.err
    assert call("provision", "--all", "--json", boards=(one, two)).code == 0
    two.unplug()
    one.unplug()
    two.plug_in()
    one.plug_in()
    again = call("provision", "--all", "--json", boards=(one, two))
    assert again.code == 0, again.err
    for row in again.json["boards"]:
        assert (row["sent"], row["copied"], row["bytes"]) == ([], [], 0)
        assert row["joined"]
        assert len(row["skipped"]) > 30
    assert {row["mac"]: row["node"] for row in again.json["boards"]} == {MACS[0]: 1, MACS[1]: 3}
    assert f"({MACS[1]}) becomes node 3: as before" in again.err


def test_a_table_for_a_person_and_a_mac_that_only_the_bootloader_knows(call, broker, tmp_path):
    write_network(tmp_path, nodes=3, broker=broker)
    with EmulatedBoard(tmp_path / "board", mac=MACS[4]) as board:
        outcome = call("provision", "--all", boards=(board,))
        assert outcome.code == 0, outcome.err
        assert f"{board.port} ({MACS[4]}) becomes node 1: it is new" in outcome.err
        assert re.search(rf"^node 1 on {board.port}: \d+ files sent \(", outcome.out)
    assert "has joined" in outcome.out
    assert "1 of 1 boards provisioned in" in outcome.out


def test_neither_port_nor_all_lists_the_ports_and_opens_none(call, tmp_path):
    write_network(tmp_path)
    outcome = call("provision")
    assert outcome.code == 2
    assert "--port PATH or --all" in outcome.err


def test_more_boards_than_ids_are_refused_and_all_boards_go_on(call, boards, broker, tmp_path):
    write_network(tmp_path, nodes=1, broker=broker)
    assert call("provision", "--port", boards(1).port, "--json").code == 0
    outcome = call("provision", "--all", boards=(boards(1), boards(2)))
    assert outcome.code == 2
    assert "2 boards, 1 of them new" in outcome.err
    assert "becomes node" not in outcome.err
    assert heard(boards(1).port, "dcka: ready")


def test_passwords_reach_the_board_and_nothing_else(call, boards, tmp_path, monkeypatch):
    network = (
        f'[network]\nname = "{NETWORK}"\nnodes = 3\nbroker = "mqtt://grower@127.0.0.1:9"\n'
        '[topology]\nkind = "complete"\n[wifi]\nssid = "attic"\n'
    )
    (tmp_path / "network.toml").write_text(network)
    file = tmp_path / "wifi.txt"
    file.write_text("one-secret-word\n")
    file.chmod(0o600)
    monkeypatch.setenv("DCKA_BROKER_PASSWORD", "two-secret-word")
    board = boards(1)
    arguments = ("provision", "--port", board.port, "--wifi-password-file", str(file), "--no-wait")
    outcomes = [call(*arguments, "--json"), call(*arguments)]
    assert [outcome.code for outcome in outcomes] == [0, 0]
    assert "secret" not in "".join(outcome.out + outcome.err for outcome in outcomes)
    kept = [path for path in (tmp_path / ".dcka").rglob("*") if path.is_file()]
    assert kept and not [path for path in kept if b"secret" in path.read_bytes()]
    board.power_off()
    holders = [name for name, content in board.files().items() if b"secret" in content]
    assert [name.rpartition("/")[2] for name in holders] == ["node.json"]
    node = json.loads(board.files()[holders[0]])
    assert node["wifi"] == {"ssid": "attic", "password": "one-secret-word"}
    assert node["broker"]["password"] == "two-secret-word"


def test_a_password_that_is_nowhere_is_asked_for_by_name_before_a_port_is_opened(call, tmp_path):
    (tmp_path / "network.toml").write_text('[network]\nbroker = "mqtt://10.0.0.9"\n[wifi]\nssid = "attic"\n')
    outcome = call("provision", "--port", "/dev/ttyNONE")
    assert outcome.code == 2
    assert "DCKA_WIFI_PASSWORD" in outcome.err


def test_a_password_is_no_option(call, tmp_path):
    write_network(tmp_path)
    assert call("provision", "--port", "/dev/ttyNONE", "--wifi-password", "x").code == 2


@pytest.mark.parametrize(
    "network, words",
    [
        ('[network]\nbroker = "embedded"\n[wifi]\nssid = "attic"\n', "listens on this computer alone"),
        ('[network]\nbroker = "mqtt://127.0.0.1"\n[wifi]\nssid = "attic"\n', "own loopback"),
        ('[network]\nbroker = "mqtt://10.0.0.9"\n', "names no Wi-Fi"),
        (
            '[network]\nbroker = "mqtts://10.0.0.9"\n[wifi]\nssid = "attic"\n',
            "knows no certificate authorities",
        ),
    ],
)
def test_what_a_real_board_could_not_use_is_refused_before_a_port_is_opened(call, tmp_path, network, words):
    (tmp_path / "network.toml").write_text(network)
    outcome = call("provision", "--port", "/dev/ttyNONE")
    assert outcome.code == 2
    assert words in outcome.err


def test_a_node_that_is_none_and_one_id_for_two_boards_are_refused_before_a_port_is_opened(call, tmp_path):
    write_network(tmp_path, nodes=3)
    assert "--node 9 is not in the network" in call("provision", "--port", "/dev/ttyNONE", "--node", "9").err
    outcome = call("provision", "--port", "/dev/ttyNONE", "--port", "/dev/ttyNONE2", "--node", "2")
    assert (outcome.code, "there are 2 boards" in outcome.err) == (2, True)


def test_a_node_that_does_not_join_is_told_and_the_files_are_there(call, boards, tmp_path):
    write_network(tmp_path, nodes=3)  # at its broker's address nobody is
    outcome = call("provision", "--port", boards(1).port, "--timeout", "1", "--json")
    assert outcome.code == 1
    (row,) = outcome.json["boards"]
    assert row["joined"] is False
    assert row["sent"]
    assert row["error"].startswith(f"{boards(1).port}: ")
    assert "no broker listens there" in row["error"]


def test_sources_instead_of_mpy_files(call, boards, tmp_path):
    write_network(tmp_path, nodes=3)
    outcome = call("provision", "--port", boards(1).port, "--source", "--no-wait", "--json")
    assert outcome.code == 0, outcome.err
    sent = outcome.json["boards"][0]["sent"]
    assert "dcka_core/node.py" in sent
    assert not [path for path in sent if path.endswith(".mpy")]
    assert outcome.json["boards"][0]["joined"] is None


def test_somebody_elses_main_py_is_mentioned(call, tmp_path):
    write_network(tmp_path, nodes=3)
    files = {"main.py": b"print('mine')\n", **named(MACS[0])}
    with EmulatedBoard(tmp_path / "board", extra_files=files) as board:
        outcome = call("provision", "--port", board.port, "--no-wait")
    assert outcome.code == 0
    assert "main.py that is not dcka's; it is replaced" in outcome.err


def test_with_all_nothing_is_written_to_what_no_board_has(call, boards, tmp_path, monkeypatch):
    write_network(tmp_path, nodes=3)
    printer = PortInfo("/dev/pts/99998", "a printer", 0x04B8, 0x0202)
    found = ports.find_ports
    monkeypatch.setattr(ports, "find_ports", lambda: [printer, *found()])
    outcome = call("provision", "--all", "--no-wait", "--json", boards=(boards(1),))
    assert outcome.code == 0, outcome.err
    assert [row["port"] for row in outcome.json["boards"]] == [boards(1).port]
    assert "not opened: /dev/pts/99998 (a printer)" in outcome.err
    monkeypatch.setattr(ports, "find_ports", lambda: [printer])
    assert call("provision", "--all").code == 3
