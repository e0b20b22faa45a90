"""The recorder: what can be kept is not lost, a place that refuses is told once, and the network is watched on."""

import contextlib
import sqlite3
import threading

import pytest
from history_scene import T0, Heard, hand_over, told
from servers import wait_until
from sqlalchemy import event

from dcka.history import Recorder, open_history
from dcka.history import recorder as recorder_module
from dcka.monitor.events import Event

LIMIT_S = 60.0


@pytest.fixture(scope="module")
def heard():
    return Heard("gossip")


@pytest.fixture
def file(tmp_path):
    return tmp_path / "history.sqlite"


@pytest.fixture
def quick(monkeypatch):
    """Pauses as short as they can be."""
    monkeypatch.setattr(recorder_module, "AGAIN_S", (0.01, 0.02))
    monkeypatch.setattr(recorder_module, "PATIENCE_S", 0.0)


class Disk:
    """A disk of a size of our choice: SQLite's own limit of pages, so that its own error comes."""

    def __init__(self, history):
        self.pages = 1 << 30
        event.listen(history.engine, "begin", self._limit)

    def _limit(self, connection):
        connection.exec_driver_sql(f"PRAGMA max_page_count={self.pages}")


@contextlib.contextmanager
def recording(file, **how):
    said = []
    with open_history(str(file)) as history:
        recorder = Recorder(history, "lab", lambda text, bad: said.append((text, bad)), **how)
        disk = Disk(history)
        with recorder:
            yield recorder, history, disk, said


def expected(tmp_path, heard):
    with open_history(str(tmp_path / "expected.sqlite")) as history, Recorder(history, "lab") as recorder:
        hand_over(recorder, heard.messages)
        assert recorder.flush(LIMIT_S)
        return told(history.run("last"))


def test_a_full_disk_is_told_once_the_rest_waits_and_is_written_when_there_is_room(
    file, tmp_path, heard, quick
):
    half = len(heard.messages) // 2
    with recording(file) as (recorder, history, disk, said):
        state = hand_over(recorder, heard.messages[:half])
        assert recorder.flush(LIMIT_S)
        disk.pages = 1
        hand_over(recorder, heard.messages[half:], at=T0 + half / 1000, state=state)
        wait_until(lambda: len(said) == 1, "a word about the disk")
        assert not recorder.flush(0.0) and recorder.trouble == "the disk is full"
        seen = history.run("last")
        assert seen.step_count <= len(heard.messages)
        disk.pages = 1 << 30
        assert recorder.flush(LIMIT_S)
        wait_until(lambda: len(said) == 2, "that it is over")
        assert told(history.run("last")) == expected(tmp_path, heard)
    assert said[0][0].startswith(
        f"the history {file} cannot be written: the disk is full; the monitor goes on"
    )
    assert said[1] == (f"the history {file} is written again; nothing was lost", False)
    assert (recorder.lost, recorder.trouble) == (0, "")


@contextlib.contextmanager
def locked(file):
    """Another program has the database for itself."""
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.execute("ROLLBACK")
        other.close()


def test_what_memory_cannot_hold_is_counted_and_leaves_a_gap(file, heard, quick, monkeypatch):
    monkeypatch.setattr("dcka.history.database.BUSY_S", 0.05)
    with recording(file, most=10) as (recorder, history, _, said):
        state = hand_over(recorder, heard.messages[:3])
        assert recorder.flush(LIMIT_S)
        with locked(file):
            hand_over(recorder, heard.messages[3:6], state=state)
            wait_until(lambda: bool(said), "a word about the lock")
            hand_over(recorder, heard.messages[6:], state=state)
            wait_until(lambda: recorder.lost > 0, "memory to be full")
        assert recorder.flush(LIMIT_S)
        wait_until(lambda: len(said) == 2, "that it is over")
        assert said[1] == (f"the history {file} is written again; {recorder.lost:,} messages were lost", True)
    with open_history(str(file)) as history, history.engine.connect() as connection:
        assert [row[0] for row in connection.exec_driver_sql("SELECT kind FROM gaps")] == ["store"]


def test_a_writer_who_holds_the_lock_is_waited_for(file, tmp_path, heard, quick, monkeypatch):
    monkeypatch.setattr("dcka.history.database.BUSY_S", 0.05)
    with recording(file) as (recorder, history, _, said):
        assert recorder.flush(LIMIT_S)
        with locked(file):
            hand_over(recorder, heard.messages)
            wait_until(lambda: bool(said), "a word about the lock")
            assert "another program holds it locked" in said[0][0]
        assert recorder.flush(LIMIT_S)
        assert told(history.run("last")) == expected(tmp_path, heard)


def test_a_database_that_is_taken_away_does_not_disturb_the_monitor(file, heard, quick):
    with recording(file) as (recorder, _, _, said):
        hand_over(recorder, heard.messages)
        assert recorder.flush(LIMIT_S)
        with sqlite3.connect(file, isolation_level=None) as broken:
            broken.execute("PRAGMA writable_schema=ON")
            broken.execute("ALTER TABLE statuses RENAME TO elsewhere")
        broken.close()
        before = recorder.written
        hand_over(recorder, heard.messages, at=T0 + 60)
        wait_until(lambda: bool(said), "a word about the table")
        assert recorder.written >= before


def test_a_run_that_is_removed_while_it_is_recorded_is_no_trouble(file, heard, quick):
    with recording(file) as (recorder, history, _, _):
        state = hand_over(recorder, heard.messages[:-5])
        assert recorder.flush(LIMIT_S)
        assert history.remove([history.run("last").uid]) == 1
        hand_over(recorder, heard.messages[-5:], state=state)
        wait_until(lambda: recorder.flush(1.0), "the rest to be dropped")
        assert history.runs() == []


def test_what_comes_is_written_soon_and_the_end_writes_all(file, heard):
    with recording(file) as (recorder, history, _, _):
        hand_over(recorder, heard.messages[:5])
        wait_until(lambda: recorder.written >= 1, "a first batch, without being asked")
        hand_over(recorder, heard.messages)
    with open_history(str(file)) as history:
        assert history.run("last").state == "finished"


def test_its_own_absence_is_a_gap_unless_another_monitor_was_there(file, heard):
    half = next(at for at, (suffix, _) in enumerate(heard.messages) if suffix.startswith("step/")) + 3
    with open_history(str(file)) as history:
        now = recorder_module.time.time
        with Recorder(history, "lab") as recorder:
            state = hand_over(recorder, heard.messages[:half], at=now())
            assert recorder.flush(LIMIT_S)
        with Recorder(history, "lab") as recorder:
            kept = [message for message in heard.retained if message[0] in ("run", "dataset")]
            state = hand_over(recorder, kept, retained=True, at=now())
            hand_over(recorder, heard.messages[half + 2 :], at=now(), state=state)
            assert recorder.flush(LIMIT_S)
        run = history.run("last")
        assert [gap.kind for gap in run.gaps] == ["monitor"]
        assert run.gaps[0].began_at < run.gaps[0].ended_at
        with history.engine.execution_options(dcka_write=True).begin() as connection:
            connection.exec_driver_sql(
                "INSERT INTO sessions (id, network, began_at, seen_at) VALUES ('third', 'lab', 0, 1e12)"
            )
        assert history.run("last").gaps == []


def test_an_outage_of_the_broker_is_a_gap(file, heard):
    with recording(file) as (recorder, history, _, _):
        state = hand_over(recorder, heard.messages[:30])
        recorder.event(Event("broker", "away", T0 + 0.031, {"state": "away"}, True))
        recorder.event(Event("broker", "back", T0 + 0.036, {"state": "back"}))
        recorder.reconnected(T0 + 0.040)
        hand_over(recorder, heard.messages[30:], at=T0 + 0.040, state=state)
        assert recorder.flush(LIMIT_S)
        gaps = [(gap.kind, gap.began_at, gap.ended_at) for gap in history.run("last").gaps]
    assert gaps == [
        ("broker", pytest.approx(T0 + 0.029), T0 + 0.040),
        ("broker", T0 + 0.031, T0 + 0.036),
    ]


def test_readers_see_whole_batches_while_it_writes(file, heard):
    """In WAL a reader waits for nobody, and finds the run or does not."""
    wrong = []

    def look(history, done):
        while not done.is_set():
            for run in history.runs():
                wrong.extend(step.step for step in run.steps if step.centres is None)

    with recording(file) as (recorder, history, _, _):
        done = threading.Event()
        readers = [threading.Thread(target=look, args=(history, done)) for _ in range(2)]
        for reader in readers:
            reader.start()
        state = None
        for at in range(0, len(heard.messages), 20):
            state = hand_over(recorder, heard.messages[at : at + 20], at=T0 + at / 1000, state=state)
            assert recorder.flush(LIMIT_S)
        done.set()
        for reader in readers:
            reader.join()
    assert wrong == []
