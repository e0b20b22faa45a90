"""Updates on emulated boards: old to new, broken versions that go back, one node first, power that fails."""

import contextlib
import hashlib
import json
from dataclasses import replace

import pytest
from board_bench import NETWORK
from servers import LIMIT_S, free_port, running

from dcka.boards import joining
from dcka.boards.emulated import EmulatedBoard
from dcka.boards.repl import Repl
from dcka.boards.secrets import Secrets
from dcka.boards.versions import air_version, wanted_version
from dcka.cli import main
from dcka.config import from_mapping
from dcka.emulation.build import host_march
from dcka.emulation.micropython import available
from dcka.mqtt.connection import Connection
from dcka.updates.delivery import State
from dcka.updates.manifests import signed
from dcka.updates.rollout import Rollout, Wishes

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(not available(), reason=str(available().reason)),
]

KEY = bytes(range(32))
# As a board's, only quicker.
LIMITS = {"stay_s": 1, "limit_s": 8, "starts": 1}
WISHES = Wishes(join_s=LIMIT_S, patience_s=LIMIT_S)
PLANTED = b"raise ValueError('planted')\n"


# What a chip has for deep sleep, in front of an emulated board's boot.py; its sleeps are not waited for.
CHIP = b"""
import os, sys

class _Memory:
    def memory(self, *content):
        if content:
            with open("rtc.bin", "wb") as file:
                file.write(content[0])
            return
        try:
            with open("rtc.bin", "rb") as file:
                return file.read()
        except OSError:
            return b""

class _Chip:
    PWRON_RESET = 1
    DEEPSLEEP_RESET = 4
    RTC = _Memory

    def reset_cause(self):
        return self.cause

    def deepsleep(self, ms):
        open("asleep", "w").close()
        sys.exit()

_Chip.cause = 4 if "asleep" in os.listdir() else 1
if _Chip.cause == 4:
    os.remove("asleep")
sys.modules["machine"] = _Chip()
"""


def network(broker, nodes=1, deep=False, **changes):
    sections = {
        "sleep": {"deep": deep},
        "network": {"name": NETWORK, "nodes": nodes, "broker": str(broker)},
        "topology": {"kind": "complete"},
        "update": {**LIMITS, **changes},
    }
    return from_mapping(sections)


def march():
    return None if host_march() == "none" else host_march()


@contextlib.contextmanager
def boards_of(folder, broker, nodes=1, deep=False):
    """Boards that are nodes of the network and have joined: id → board."""
    config = network(broker, nodes, deep)
    with contextlib.ExitStack() as stack:
        boards = {}
        for node in config.ids:
            version = wanted_version(config, node, march(), Secrets(update=KEY))
            files = {path.strip("/"): content for path, content in version.tree().items()}
            files["boot.py"] = (CHIP if deep else b"") + files["boot.py"]
            mac = f"24:0a:c4:00:00:{node:02x}"
            place = folder / f"board{node}"
            boards[node] = stack.enter_context(EmulatedBoard(place, mac=mac, extra_files=files))
        yield boards


def changed(version, files):
    """The version with other files, and a number of its own."""
    number = hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()[:12]
    record = json.loads(version.files["version.json"]) | {"version": number}
    files = files | {"version.json": json.dumps(record).encode()}
    return replace(version, files=files, version=number)


def planted(version, path):
    """The version with a fault in one of its files."""
    files = {name: content for name, content in version.files.items() if name != f"{path}.mpy"}
    return changed(version, files | {f"{path}.py": PLANTED})


def without_a_broker(version, port):
    """The version that looks for its broker where there is none."""
    settings = json.loads(version.files["config.json"])
    settings["broker"]["port"] = port
    return changed(version, dict(version.files) | {"config.json": json.dumps(settings).encode()})


def rolled_out(broker, nodes, version_for, wishes=WISHES):
    """Update these nodes; `version_for`: (node, facts) → what each gets."""

    def plan(node, facts):
        version = version_for(node, facts)
        if version.version == facts["version"]:
            return None
        return signed(version, NETWORK, node, facts["counter"] + 1, KEY)

    with Connection(broker, NETWORK) as connection:
        return Rollout(connection, nodes, plan, wishes).run()


def test_a_board_gets_a_new_version_from_the_command_line(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    with running("embedded") as broker, boards_of(tmp_path, broker.address) as boards:
        (tmp_path / "network.toml").write_text(
            f'[network]\nname = "{NETWORK}"\nnodes = 1\nbroker = "{broker.address}"\n[topology]\nkind = "complete"\n'
            "[update]\nstay_s = 1\nlimit_s = 30\n"
        )
        key = tmp_path / ".dcka" / "update.key"
        key.parent.mkdir()
        key.write_text(KEY.hex())
        key.chmod(0o600)

        def call(*arguments):
            capfd.readouterr()
            code = main(["update", *arguments, "--json"])
            return code, json.loads(capfd.readouterr().out)

        code, dry = call("--dry-run")
        assert code == 0 and dry["nodes"]["1"]["state"] == "held" and dry["updated"] == 0
        code, done = call()
        assert code == 0, done
        told = done["nodes"]["1"]
        assert (told["state"], done["updated"], done["canary"]) == ("joined", 1, [1])
        # The code is on the board; what is new are the settings, and the list of what there is.
        assert told["sent"] == 2 and told["copied"] == told["files"] - 2
        assert told["version"] == dry["nodes"]["1"]["version"] != told["before"]
        code, again = call()
        assert code == 0 and again["nodes"]["1"]["state"] == "current" and not again["updated"]
        code, status = call("status")
        assert code == 0 and status["nodes"]["1"]["version"] == told["version"]
        assert status["nodes"]["1"]["state"] == "joined" and status["nodes"]["1"]["online"]
        boards[1].power_off()
        files = boards[1].files()
    homes = {path.partition("/")[0] for path in files if path.startswith("fw-")}
    assert len(homes) == 2 and f"fw-{told['version']}" in homes
    settings = json.loads(files[f"fw-{told['version']}/node.json"])
    assert settings["update"] == {"stay_s": 1, "limit_s": 30} and settings["node"] == 1
    assert not {"main.old", "trial.txt", "rolled.txt"} & files.keys()


def test_what_a_deeply_sleeping_node_wakes_with_is_copied_and_mended(tmp_path):
    """The folder `wake`: made on the board, copied where it is equal, sent where it is not."""
    with running("embedded") as broker, boards_of(tmp_path, broker.address, deep=True) as boards:
        config = network(broker.address, deep=True, stay_s=2)
        path = "wake/dcka_device/waking.mpy"
        planned = {}

        def new(node, facts):
            planned["version"] = version = air_version(config, node, facts["mpy"])
            planned["signed"] = signed(version, NETWORK, node, facts["counter"] + 1, KEY)
            return version

        board = boards[1]
        board.power_off()
        [home] = {name.partition("/")[0] for name in board.files() if name.startswith("fw-")}
        board.put_files({f"{home}/{path}": b"not what it was"})
        board.power_on()
        assert started(board)
        done = rolled_out(broker.address, [1], new)
        assert done.ok and done.nodes[1].state is State.JOINED, done
        board.power_off()
        files = board.files()
    version = planned["version"]
    wake = {name for name in version.files if name.startswith("wake/")}
    assert path in wake and wake < set(planned["signed"].paths)
    assert {name: files[f"fw-{version.version}/{name}"] for name in version.files} == dict(version.files)
    # Damaged in the version before: so this one travelled, besides config.json and version.json.
    assert (done.nodes[1].sent, done.nodes[1].copied) == (3, len(version.files) - 3)


def test_broken_versions_go_back_and_the_others_are_spared(tmp_path):
    with running("embedded") as broker, boards_of(tmp_path, broker.address, nodes=2):
        config = network(broker.address, nodes=2, limit_s=6)

        def wanted(node, facts):
            return air_version(config, node, facts["mpy"])

        def faulty(name):
            return lambda node, facts: planted(wanted(node, facts), f"dcka_device/{name}")

        nobody = free_port()

        def lost(node, facts):
            return without_a_broker(wanted(node, facts), nobody)

        # It can't be loaded; it crashes once it has joined; it never joins.
        for version_for, reason in (
            (faulty("guard"), "can't be started: ValueError"),
            (faulty("version_word"), "1 starts came to nothing, the last with ValueError: planted"),
            (lost, "did not join within 6 s"),
        ):
            outcome = rolled_out(broker.address, [1, 2], version_for)
            assert outcome.nodes[1].state is State.ROLLED_BACK, outcome
            assert outcome.nodes[1].reason.startswith(reason), outcome
            assert outcome.canary == (1,) and outcome.stopped == "node 1 went back to its last version"
            assert outcome.nodes[2].state is State.HELD and not outcome.nodes[2].before
        # One that is well is taken by both, and the first says until then what it went back from.
        good = rolled_out(broker.address, [1, 2], wanted, replace(WISHES, soak_s=0.5))
        assert good.ok and good.canary == (1,), good
        assert good.nodes[1].facts["rolled_back"] == {"version": outcome.nodes[1].version, "reason": reason}


def test_the_power_fails_in_an_update_and_the_same_call_ends_it(tmp_path):
    ballast = hashlib.shake_128(b"ballast").digest(60_000)
    with running("embedded") as broker, boards_of(tmp_path, broker.address) as boards:
        config = network(broker.address, limit_s=60, starts=3)

        def new(node, facts):
            # With something that has to travel.
            version = air_version(config, node, facts["mpy"])
            return changed(version, dict(version.files) | {"ballast.bin": ballast})

        board = boards[1]
        for writes in (40, 300):
            board.cut_after_writes(writes)
            cut = rolled_out(broker.address, [1], new, replace(WISHES, patience_s=3.0))
            assert cut.nodes[1].state is State.FAILED, cut
            assert not board.on
            board.power_on()
            assert started(board)
        done = rolled_out(broker.address, [1], new)
        assert done.ok and done.nodes[1].state is State.JOINED, done
        # What had come before the cuts was not sent again.
        assert done.nodes[1].bytes < len(ballast) + 10_000


def started(board):
    """The board has a whole version, and joins with it."""
    repl = Repl(board.port)
    try:
        return joining.wait_until_joined(repl.lines(LIMIT_S), LIMIT_S)
    finally:
        repl.close()
