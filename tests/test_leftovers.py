"""The guard of conftest.py finds and ends what a test left running, and says so."""

import os
import shutil
import subprocess
import sys
import uuid
from pathlib import Path

import leftovers
import pytest

TESTS = Path(__file__).resolve().parent

LEAKING_TEST = """
import subprocess

def test_leaks():
    # The shell ends at once: the sleeper's parent is gone when the guard looks.
    subprocess.run("sleep 300 >&- 2>&- & echo $! > pid", shell=True, check=True, start_new_session=True)
"""

needs_proc = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="this system has no /proc to look into"
)


def is_running(pid):
    """Whether the process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes() != b""
    except OSError:
        return False


@needs_proc
def test_a_child_is_found_by_its_parent():
    child = subprocess.Popen(["sleep", "300"], env={})
    try:
        found = leftovers.started_processes(os.getpid(), mark="nobody's")
        assert "sleep 300" in found[child.pid]
    finally:
        child.kill()
        child.wait()
    assert child.pid not in leftovers.started_processes(os.getpid(), mark="nobody's")


@needs_proc
def test_an_orphan_is_found_by_its_mark():
    mark = str(uuid.uuid4())
    shell = "sleep 300 >/dev/null 2>&1 & echo $!"
    done = subprocess.run(
        shell, shell=True, env={**os.environ, leftovers.VARIABLE: mark}, stdout=subprocess.PIPE, check=True
    )
    orphan = int(done.stdout)
    try:
        assert set(leftovers.started_processes(os.getpid(), mark)) >= {orphan}
    finally:
        os.kill(orphan, 9)


@needs_proc
def test_a_session_that_leaks_fails_and_leaves_nothing(tmp_path):
    for name in ("conftest.py", "leftovers.py"):
        shutil.copy(TESTS / name, tmp_path)
    (tmp_path / "test_leaking.py").write_text(LEAKING_TEST, "utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .\n", "utf-8")
    session = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert session.returncode == 1, session.stdout
    assert "still running after the tests" in session.stdout
    assert "sleep 300" in session.stdout
    assert not is_running(int((tmp_path / "pid").read_text()))
