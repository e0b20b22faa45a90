"""What all tests share: the data sets, how many run at once, and a guard that no process outlives the tests."""

import os
import signal
import sys
import tempfile
import uuid
from pathlib import Path

import leftovers
import pytest

ROOT = Path(__file__).resolve().parent.parent


def pytest_configure(config):
    """Mark what this session starts; each worker of a session adds a mark of its own to that of the session.

    What the verbs that are called store goes into a history of the session's own, never into the user's.
    """
    if "DCKA_HISTORY" not in os.environ:
        folder = tempfile.TemporaryDirectory(prefix="dcka-history-", ignore_cleanup_errors=True)
        config.add_cleanup(folder.cleanup)
        os.environ["DCKA_HISTORY"] = str(Path(folder.name) / "history.sqlite")
    worker = getattr(config, "workerinput", {}).get("workerid")
    if worker:
        os.environ[leftovers.VARIABLE] += f".{worker}."
        leftovers.interrupt_with_parent()
    else:
        os.environ[leftovers.VARIABLE] = str(uuid.uuid4())
        # A session that is told to end takes leave as after Ctrl-C.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    # What a shell starts in the background has Ctrl-C ignored, and so have its children: tests of Ctrl-C would wait.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_unconfigure(config):
    """End what a worker left that was itself killed, as it is when it does not end with the session."""
    if not hasattr(config, "workerinput") and getattr(config.option, "numprocesses", None):
        left = leftovers.end_all(os.getpid(), os.environ[leftovers.VARIABLE])
        if left:
            print(f"still running after the workers' end, now killed: {left}", file=sys.stderr)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """`-n auto`: half as many again as there are processors, since tests of networks wait for much of their time."""
    asked = os.environ.get("PYTEST_XDIST_AUTO_NUM_WORKERS")
    return int(asked) if asked else (3 * (os.cpu_count() or 1) + 1) // 2


def pytest_addoption(parser):
    """`make test` runs the tests marked `timed` by themselves, whatever else chooses among the tests."""
    parser.addoption("--timed", choices=("with", "without", "only"), default="with", help="tests of speed")


def pytest_collection_modifyitems(config, items):
    """Everything in tests/system starts brokers or nodes. Leave out what `--timed` leaves out."""
    for item in items:
        if ROOT / "tests" / "system" in item.path.parents:
            item.add_marker(pytest.mark.system)
    timed = config.getoption("timed")
    if timed != "with":
        left_out = [item for item in items if (item.get_closest_marker("timed") is None) is (timed == "only")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]


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
    yield
    left = leftovers.end_all(os.getpid(), os.environ[leftovers.VARIABLE])
    assert not left, f"still running after the tests, now killed: {left}"
