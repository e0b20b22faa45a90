"""What all tests share: the data sets, and a guard that no process outlives the tests."""

import os
import signal
import uuid
from pathlib import Path

import leftovers
import pytest

ROOT = Path(__file__).resolve().parent.parent


def pytest_collection_modifyitems(items):
    """Everything in tests/system starts brokers or nodes."""
    for item in items:
        if ROOT / "tests" / "system" in item.path.parents:
            item.add_marker(pytest.mark.system)


@pytest.fixture(scope="session")
def shared_data():
    """The folder with the data sets, beside the checkout."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the data sets are not here: they lie in shared/data, beside the checkout")
    return folder


@pytest.fixture(scope="session", autouse=True)
def no_process_is_left():
    """Fail the session if a process that it started still runs at its end, and kill exactly those."""
    os.environ[leftovers.VARIABLE] = mark = str(uuid.uuid4())
    yield
    left = {
        pid: command for pid, command in leftovers.started_processes(os.getpid(), mark).items() if command
    }
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left, f"still running after the tests, now killed: {left}"
