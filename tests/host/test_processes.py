"""Children are captured, stopped, and gone when their parent is, whatever ends the parent."""

import contextlib
import os
import queue
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from servers import is_running, wait_until

from dcka.processes import Child, ProcessError, ProcessGroup, unwinding_signals

HOST = Path(__file__).parents[2] / "host"
PATIENT = "import time; print('ready', flush=True); time.sleep(600)"
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + PATIENT


def python(code: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", code]


def ready(child: Child) -> Child:
    wait_until(lambda: "ready" in child.lines(), f"{child.name} is ready")
    return child


def test_both_streams_are_captured_in_order_with_the_exit_code() -> None:
    loop = "for i in '012': print('out', i, flush=True); print('err', i, file=sys.stderr)"
    child = Child(python(f"import sys\n{loop}\nsys.exit(7)"))
    assert child.wait(10) == 7
    assert child.lines() == ["out 0", "err 0", "out 1", "err 1", "out 2", "err 2"]


def test_only_the_last_lines_are_kept_and_the_log_has_all(tmp_path: Path) -> None:
    log = tmp_path / "child.log"
    child = Child(python("for i in range(1000): print(i)"), keep=10, log=log)
    assert child.wait(10) == 0
    assert child.lines() == [str(i) for i in range(990, 1000)]
    assert log.read_text().split() == [str(i) for i in range(1000)]


def test_a_line_without_end_is_cut() -> None:
    child = Child(python("import sys; sys.stdout.write('x' * 1_000_000)"), keep=4)
    assert child.wait(10) == 0
    lines = child.lines()
    assert len(lines) == 4
    assert max(map(len, lines)) <= 8192


def test_output_that_is_not_utf8_is_shown_with_replacements() -> None:
    child = Child(python("import os; os.write(1, b'\\xff\\xfeok\\n')"))
    child.wait(10)
    assert child.lines() == ["��ok"]


def test_a_missing_program_and_an_impossible_log_are_sentences(tmp_path: Path) -> None:
    with pytest.raises(ProcessError, match=r"^broker: cannot start /no/such/program: No such file"):
        Child(["/no/such/program"], name="broker")
    with pytest.raises(ProcessError, match=r"^x: cannot write its log .*nowhere/log: No such file"):
        Child(python("print()"), name="x", log=tmp_path / "nowhere" / "log")


def test_nothing_stays_open_after_a_failed_start(tmp_path: Path) -> None:
    before = len(os.listdir("/dev/fd"))
    for _ in range(5):
        with pytest.raises(ProcessError):
            Child(["/no/such/program"], log=tmp_path / "log")
    assert len(os.listdir("/dev/fd")) == before


def test_stop_is_sigterm_first() -> None:
    child = ready(Child(python(PATIENT)))
    assert child.poll() is None
    assert child.stop(grace=30) == -signal.SIGTERM
    assert child.stop() == -signal.SIGTERM  # once more changes nothing
    assert child.stopped


def test_stop_kills_what_ignores_sigterm() -> None:
    assert ready(Child(python(STUBBORN))).stop(grace=0.05) == -signal.SIGKILL


def test_a_child_has_its_own_session() -> None:
    with ProcessGroup() as group:
        child = group.start(python(PATIENT))
        assert os.getsid(child.pid) == child.pid != os.getsid(0)


def test_children_start_from_the_main_thread_only() -> None:
    seen: list[str] = []

    def start() -> None:
        try:
            Child(python("print()"))
        except RuntimeError as error:
            seen.append(str(error))

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    assert seen == ["children are started from the main thread: their death signal is tied to it"]


def test_a_group_stops_the_last_first(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    terminate = Child.terminate

    def noted(child: Child) -> None:
        order.append(child.name)
        terminate(child)

    monkeypatch.setattr(Child, "terminate", noted)
    with ProcessGroup() as group:
        children = [group.start(python(PATIENT), name=name) for name in ("a", "b", "c")]
    assert order == ["c", "b", "a"]
    assert all(child.poll() is not None for child in children)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, ValueError])
def test_a_group_is_stopped_by_any_exception(error: type[BaseException]) -> None:
    group = ProcessGroup()
    with pytest.raises(error), group:
        group.start(python(PATIENT))
        group.start(python(PATIENT))
        raise error
    assert [child.poll() for child in group.children] == [-signal.SIGTERM] * 2


def test_only_unexpected_ends_are_reported() -> None:
    with ProcessGroup() as group:
        told = group.start(python(PATIENT))
        crashed = group.start(python("raise SystemExit(3)"), name="crashed")
        group.start(python(PATIENT))
        told.stop()
        crashed.wait(10)
        assert group.ended() == [crashed]
        group.forget(crashed)
        assert group.ended() == []


def test_an_interruption_right_after_the_fork_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    popen = subprocess.Popen

    def interrupted(*args: object, **options: object) -> object:
        process = popen(*args, **options)  # type: ignore[call-overload]
        signal.raise_signal(signal.SIGINT)
        return process

    group = ProcessGroup()
    with pytest.raises(KeyboardInterrupt), group:
        monkeypatch.setattr(subprocess, "Popen", interrupted)
        group.start(python(PATIENT))
    assert [child.poll() for child in group.children] == [-signal.SIGTERM]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_unwinding_signals_are_put_back() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)]
    with pytest.raises(SystemExit) as caught, unwinding_signals():
        signal.raise_signal(signal.SIGTERM)
    assert caught.value.code == 128 + signal.SIGTERM
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)] == before


def test_an_ignored_hangup_stays_ignored() -> None:
    previous = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with unwinding_signals():
            signal.raise_signal(signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, previous)


@contextlib.contextmanager
def parent(body: str) -> Iterator[tuple["subprocess.Popen[str]", list[int]]]:
    """A program of its own that starts children by `body`, prints their pids on one line, and waits."""
    program = f"import sys, time\nsys.path.insert(0, {str(HOST)!r})\n" + textwrap.dedent(body)
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    with process:
        try:
            assert process.stdout is not None
            pids = [int(word) for word in process.stdout.readline().split()]
            assert pids, "the program started no children"
            yield process, pids
        finally:
            process.kill()
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


STARTING = f"""
from dcka.processes import ProcessGroup, unwinding_signals
def start(group, code):
    child = group.start([sys.executable, "-I", "-S", "-c", code])
    while "ready" not in child.lines():
        time.sleep(0.002)
    return child
PATIENT, STUBBORN = {PATIENT!r}, {STUBBORN!r}
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells children of a parent that was killed")
def test_children_are_gone_soon_after_their_parent_was_killed() -> None:
    body = """
    with ProcessGroup() as group:
        print(*[start(group, code).pid for code in (PATIENT, STUBBORN, PATIENT)], flush=True)
        time.sleep(600)
    """
    with parent(STARTING + textwrap.dedent(body)) as (process, pids):
        assert all(map(is_running, pids))
        process.kill()
        wait_until(lambda: not any(map(is_running, pids)), "the children are gone")


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, -signal.SIGINT), (signal.SIGTERM, 128 + 15), (signal.SIGHUP, 128 + 1)],
)
def test_a_signal_to_the_parent_unwinds_and_stops_the_children(
    number: signal.Signals, code: int, tmp_path: Path
) -> None:
    mark = tmp_path / "unwound"
    body = f"""
    try:
        with unwinding_signals(), ProcessGroup(grace=0.05) as group:
            print(*[start(group, code).pid for code in (PATIENT, STUBBORN)], flush=True)
            time.sleep(600)
    finally:
        open({str(mark)!r}, "w").close()
    """
    with parent(STARTING + textwrap.dedent(body)) as (process, pids):
        process.send_signal(number)
        assert process.wait(10) == code
        assert not any(map(is_running, pids))
        assert mark.exists()


def test_a_second_interruption_does_not_wait_for_the_grace() -> None:
    body = """
    class Told(ProcessGroup):
        def stop(self):
            print("stopping", flush=True)
            super().stop()
    with Told(grace=600) as group:
        print(*[start(group, STUBBORN).pid for _ in range(2)], flush=True)
        time.sleep(600)
    """
    with parent(STARTING + textwrap.dedent(body)) as (process, pids):
        process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        assert process.stdout.readline() == "stopping\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == -signal.SIGINT
        assert not any(map(is_running, pids))


def test_a_child_used_without_a_group_ends_with_the_program() -> None:
    body = """
    from dcka.processes import Child
    child = Child([sys.executable, "-c", STUBBORN])
    while "ready" not in child.lines():
        time.sleep(0.002)
    print(child.pid, flush=True)
    """
    with parent(STARTING + textwrap.dedent(body)) as (process, pids):
        assert process.wait(10) == 0
        assert not any(map(is_running, pids))


def test_each_line_is_handed_on_as_it_comes() -> None:
    heard: queue.SimpleQueue[str] = queue.SimpleQueue()
    child = Child(
        python("print('one', flush=True); input()"), on_line=heard.put, stdin=(ends := os.pipe())[0]
    )
    assert heard.get(timeout=120) == "one"  # while it runs: it waits for its input
    assert child.poll() is None
    for end in ends:
        os.close(end)
    child.wait(10)
    assert child.lines()[0] == "one"
