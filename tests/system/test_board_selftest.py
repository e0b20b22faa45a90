"""`dcka board selftest` goes the whole way on its own boards, says so in one object, and leaves nothing."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from functools import partial

import leftovers
import pytest

from dcka.boards.emulated import EmulatedBoard, Faults
from dcka.boards.selftest import Report, selftest
from dcka.emulation.micropython import available
from dcka.errors import UsageError

pytestmark = pytest.mark.skipif(not available(), reason=str(available().reason))

SELFTEST = [sys.executable, "-m", "dcka", "board", "selftest", "--json"]


def environment(folder, mark):
    # The temporary folders in a place of ours: what is left can be seen there.
    return {**os.environ, "TMPDIR": str(folder), leftovers.VARIABLE: mark, "DCKA_PORTS": "/dev/no-such-port"}


def processes(mark):
    """The processes that were started with this mark in their environment, and run."""
    return [pid for pid, command in leftovers.started_processes(os.getpid(), mark).items() if command]


@pytest.mark.slow
def test_the_whole_path_in_one_object(tmp_path):
    with tempfile.TemporaryDirectory(prefix="dcka-t") as scratch:
        done = subprocess.run(
            [*SELFTEST, "--boards", "2"],
            cwd=tmp_path,
            env=environment(scratch, "whole"),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        told = json.loads(done.stdout)
        assert told["emulated"] is True
        for name in ("boards", "flashed", "verified", "provisioned", "joined", "injected", "rejoined"):
            assert told[name] == 2, name
        assert told["run_verdict"] == "PASS"
        assert told["files_skipped_second_time"] == told["files_sent"] > 0
        assert len(set(told["chips"])) == 2
        assert 0 < told["wall_s"] < 120
        assert os.listdir(scratch) == []
    assert os.listdir(tmp_path) == []
    assert processes("whole") == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_with_all_that_it_started(tmp_path, number):
    with tempfile.TemporaryDirectory(prefix="dcka-t") as scratch:
        mark = number.name
        running = subprocess.Popen(
            SELFTEST,
            cwd=tmp_path,
            env=environment(scratch, mark),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        with running:
            # Boards, their interpreters or bootloaders, the broker, a verb: wait until several are there.
            deadline = time.monotonic() + 30
            while len(processes(mark)) < 8:
                assert time.monotonic() < deadline and running.poll() is None
                time.sleep(0.02)
            running.send_signal(number)
            said, _ = running.communicate(timeout=120)
        assert running.returncode == 128 + number
        assert said == b""
        deadline = time.monotonic() + 10
        while processes(mark):  # a child of a child may take a moment longer
            assert time.monotonic() < deadline, processes(mark)
            time.sleep(0.02)
        assert os.listdir(scratch) == []


def test_a_flash_that_stores_a_wrong_byte_fails_it(monkeypatch):
    faults = Faults(flip_flashed_byte=0x12345)
    monkeypatch.setattr("dcka.boards.selftest.EmulatedBoard", partial(EmulatedBoard, faults=faults))
    told = []
    report = selftest(2, told.append)
    assert not report.passed
    assert report.problem.startswith("flash: exit code ")
    assert (report.verified, report.provisioned, report.run_verdict) == (0, 0, None)
    assert len(told) == 2


@pytest.mark.parametrize("boards", [-1, 0, 1, 17])
def test_a_number_of_boards_that_cannot_be(boards):
    with pytest.raises(UsageError, match="2 to 16"):
        selftest(boards)


def test_it_passes_only_where_all_holds():
    whole = dict.fromkeys(("flashed", "verified", "provisioned", "joined", "injected", "rejoined"), 3)
    assert Report(3, ["esp32"] * 3, **whole, run_verdict="PASS").passed
    assert not Report(3, ["esp32"] * 3, **whole, run_verdict="FAIL").passed
    assert not Report(3, ["esp32"] * 3, **whole, run_verdict=None).passed
    assert not Report(3, ["esp32"] * 3, **whole, run_verdict="PASS", problem="x").passed
    for name in whole:
        assert not Report(3, ["esp32"] * 3, **{**whole, name: 2}, run_verdict="PASS").passed
