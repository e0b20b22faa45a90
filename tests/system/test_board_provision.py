"""A version onto a board with a real MicroPython: what travels, what does not, and what is left."""

import dataclasses

import pytest
from board_versions import flash_files, heard, small_version

from dcka.boards import joining
from dcka.boards.emulated import EmulatedBoard
from dcka.boards.installed import board_facts, read_installed
from dcka.boards.joining import wait_until_joined
from dcka.boards.provisioning import provision, wanted_version
from dcka.boards.repl import open_repl
from dcka.boards.secrets import Secrets
from dcka.boards.transfer import BoardFull, digest
from dcka.boards.versions import WrongFileSystem, require_fit
from dcka.broker import open_broker
from dcka.config import from_mapping

OLD, NEW = small_version("old"), small_version("new")


@pytest.fixture
def board(tmp_path):
    with EmulatedBoard(tmp_path / "board", extra_files=flash_files(OLD)) as made:
        assert heard(made.port, "runs ") == "runs old whole []"
        yield made


def provisioned(board, version):
    with open_repl(board.port) as repl:
        return provision(repl, version)


def files_when_off(board):
    board.power_off()
    return board.files()


def test_the_new_version_starts_and_the_old_one_stays_until_the_next_time(board):
    done = provisioned(board, NEW)
    assert done.sent == ["main_part.py", "part/other.py", "version.json", "node.json", "boot.py", "main.py"]
    assert done.copied == ["part/same.py"]
    assert (done.skipped, done.folder) == ([], NEW.folder)
    assert done.bytes_sent == sum(len(NEW.tree()[f"/{NEW.folder}/{path}"]) for path in done.sent[:4]) + len(
        NEW.boot_py + NEW.main_py
    )
    assert heard(board.port, "runs ") == "runs new whole []"
    assert files_when_off(board) == flash_files(OLD) | flash_files(NEW)
    board.power_on()
    assert provisioned(board, NEW).sent == []
    assert files_when_off(board) == flash_files(NEW)


def test_nothing_changed_nothing_travels_and_nothing_is_written(board):
    provisioned(board, NEW)
    provisioned(board, NEW)
    heard(board.port, "runs ")
    before = board.writes
    done = provisioned(board, NEW)
    assert (done.sent, done.copied, done.bytes_sent) == ([], [], 0)
    assert sorted(done.skipped) == sorted([*NEW.files, "boot.py", "main.py"])
    assert heard(board.port, "runs ") == "runs new whole []"
    assert board.writes == before


def test_of_one_changed_file_only_that_one_travels_and_what_names_the_version(board):
    changed = small_version("old", main_part_py=b"# changed\n")
    done = provisioned(board, changed)
    assert done.sent == ["main_part.py", "version.json", "main.py"]
    assert done.copied == ["part/other.py", "part/same.py", "node.json"]
    assert done.skipped == ["boot.py"]
    assert heard(board.port, "runs ") == "runs old whole []"


def test_a_configuration_change_sends_no_code(board):
    record = OLD.files["node.json"].replace(b'"node": 1', b'"node": 2')
    done = provisioned(board, small_version("old", **{"node.json": record}))
    assert done.sent == ["version.json", "node.json", "main.py"]


def test_the_nodes_own_files_are_not_touched(board):
    board.power_off()
    own = {
        "data.bin": b"points",
        "data.bin.new": b"half",
        "boots.txt": b"12",
        "run.json": b"{}",
        "commit.bin": b"c",
    }
    board.put_files(
        {**own, "failed.txt": b"4", "main.py.new": b"FIRM", "fw-0badc0de0000/part/x.py": b"# stale"}
    )
    board.power_on()
    provisioned(board, NEW)
    files = files_when_off(board)
    assert own.items() <= files.items()
    assert files.keys() == own.keys() | flash_files(OLD).keys() | flash_files(NEW).keys()


def test_a_half_made_folder_is_gone_on_with(board):
    board.power_off()
    board.put_files(
        {
            f"{NEW.folder}/part/other.py": NEW.files["part/other.py"],
            f"{NEW.folder}/main_part.py": b"# half",
            f"{NEW.folder}/node.json.new": b"{",
        }
    )
    board.power_on()
    done = provisioned(board, NEW)
    assert done.skipped == ["part/other.py"]
    assert "main_part.py" in done.sent
    assert files_when_off(board) == flash_files(OLD) | flash_files(NEW)


def test_a_full_board_is_refused_before_the_first_byte(board):
    board.power_off()
    board.fill_flash(leave_blocks=4)
    board.power_on()
    heard(board.port, "runs ")
    before = board.writes
    with (
        open_repl(board.port) as repl,
        pytest.raises(BoardFull, match=r"need \d+ KB of flash, and \d+ KB of .* free"),
    ):
        provision(repl, NEW)
    assert board.writes == before
    assert heard(board.port, "runs ") == "runs old whole []"


def test_what_no_version_uses_makes_room(board):
    board.power_off()
    board.put_files({"fw-0badc0de0000/large.bin": bytes(100_000)})
    board.fill_flash(leave_blocks=4)
    board.power_on()
    assert provisioned(board, NEW).folder == NEW.folder
    assert heard(board.port, "runs ") == "runs new whole []"


def test_progress_goes_to_its_end(board):
    told = []
    with open_repl(board.port) as repl:
        done = provision(repl, NEW, lambda now, total: told.append((now, total)))
    assert told == sorted(told)
    assert told[-1] == (done.bytes_sent, done.bytes_sent)


@pytest.fixture(scope="module")
def config():
    with open_broker("embedded") as broker:
        yield from_mapping({"network": {"name": "greenhouse", "broker": broker.url}})


@pytest.fixture
def blank(tmp_path):
    with EmulatedBoard(tmp_path / "board") as made:
        yield made


def joined(board, version, wait_s=30.0):
    with open_repl(board.port) as repl:
        provision(repl, version)
        repl.soft_reset()
        return wait_until_joined(repl.lines(wait_s), wait_s)


def test_a_blank_board_becomes_a_node_that_joins(blank, config):
    with open_repl(blank.port) as repl:
        march = board_facts(repl).march
    version = wanted_version(config, 3, march, Secrets())
    came = joined(blank, version)
    assert (came.network, came.node, came.firmware) == ("greenhouse", 3, version.firmware)
    with open_repl(blank.port) as repl:
        there = read_installed(repl)
    assert (there.network, there.node, there.folder) == ("greenhouse", 3, f"/{version.folder}")
    assert there.hashes.keys() == set(version.tree())
    assert joined(blank, version).boot > came.boot


def test_the_wake_folder_of_a_node_that_sleeps_deeply_comes_and_is_copied(blank):
    def version(every_s):
        device = {"driver": "bme280", "sda": 21, "scl": 22, "columns": {"temperature": 2}}
        sections = {
            "network": {"name": "field", "broker": "mqtt://192.168.1.10"},
            "sensors": {"devices": [device], "every_s": every_s},
            "sleep": {"deep": True},
        }
        return wanted_version(from_mapping(sections), 3, "x64", Secrets())

    def is_there(version):
        hashes = read_installed(repl).hashes
        return all(hashes.get(path) == digest(content) for path, content in version.tree().items())

    first, second = version(60), version(30)
    wake = {path for path in first.files if path.startswith("wake/")}
    assert {"wake/dcka_device/waking.mpy", "wake/dcka_device/sensors/bme280.mpy"} <= wake
    with open_repl(blank.port) as repl:
        done = provision(repl, first)
        assert wake <= {*done.sent, *done.copied} and is_there(first)
        changed = provision(repl, second)
        assert changed.sent == ["version.json", "node.json", "main.py"]
        assert wake <= set(changed.copied) and is_there(second)
        # One of them, damaged on flash in both versions, is what travels, and nothing else.
        repl.run(f"open('/{second.folder}/wake/dcka_device/waking.mpy','w').close()")
        repl.run(f"open('/{first.folder}/wake/dcka_device/waking.mpy','w').close()")
        assert provision(repl, second).sent == ["wake/dcka_device/waking.mpy"] and is_there(second)


def test_a_version_that_crashes_is_told_with_its_last_line(blank, config):
    version = wanted_version(config, 3, "x64", Secrets())
    broken = dataclasses.replace(version, files={**version.files, "dcka_device/shell.mpy": b"no code"})
    with pytest.raises(joining.NodeCrashed, match=r"ValueError: incompatible \.mpy"):
        joined(blank, broken)
    assert joined(blank, version).node == 3


def test_a_broker_that_is_not_there_is_told(blank, monkeypatch):
    monkeypatch.setattr(joining, "GRACE_S", 0.5)
    nobody = from_mapping({"network": {"name": "greenhouse", "broker": "mqtt://127.0.0.1:9"}})
    with pytest.raises(joining.BrokerRefused, match="no broker listens there"):
        joined(blank, wanted_version(nobody, 1, "x64", Secrets()))


def test_provisioning_takes_a_board_out_of_safe_mode(blank, config):
    version = wanted_version(config, 2, "x64", Secrets())
    blank.power_off()
    blank.put_files({**flash_files(version), "failed.txt": b"5"})
    blank.power_on()
    assert "5 starts in a row came to nothing" in heard(blank.port, "dcka: safe mode")
    assert joined(blank, version).node == 2


def test_a_board_that_somebody_stopped_says_so(blank, config):
    version = wanted_version(config, 2, "x64", Secrets())
    blank.power_off()
    blank.put_files({**flash_files(version), "stop": b""})
    blank.power_on()
    with pytest.raises(joining.NodeStopped, match="/stop"):
        joined(blank, version)


def test_a_fat_file_system_is_told_from_littlefs_and_refused(tmp_path, blank):
    fat = b"""import vfs
class Memory:
    def __init__(self):
        self.data = bytearray(512 * 64)
    def readblocks(self, n, buf):
        buf[:] = self.data[n * 512 : n * 512 + len(buf)]
    def writeblocks(self, n, buf):
        self.data[n * 512 : n * 512 + len(buf)] = buf
    def ioctl(self, op, arg):
        return {4: 64, 5: 512}.get(op, 0)
vfs.umount("/")
memory = Memory()
vfs.VfsFat.mkfs(memory)
vfs.mount(memory, "/")
print("FAT")
"""
    with EmulatedBoard(tmp_path / "fat", extra_files={"boot.py": fat}) as made:
        heard(made.port, "FAT")
        with open_repl(made.port) as repl:
            facts = board_facts(repl)
            with pytest.raises(WrongFileSystem, match="dcka board flash --erase"):
                require_fit(made.port, facts)
    with open_repl(blank.port) as repl:
        require_fit(blank.port, board_facts(repl))
