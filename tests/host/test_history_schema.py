"""From every version to today's; what is not ours, not known or not to be had is refused with a sentence."""

import contextlib
import os
import sqlite3
import subprocess
import sys

import pytest
from alembic import op
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from history_scene import Heard, recorded, told
from sqlalchemy import inspect, text

from dcka.errors import UsageError
from dcka.history import HistoryError, HistoryUsageError, open_history
from dcka.history import migrate as migrations
from dcka.history.migrate import HEAD, VERSION_TABLE
from dcka.history.place import default_file, parse_place
from dcka.history.schema import metadata

SCRIPTS = migrations._scripts()
VERSIONS = [entry.revision for entry in SCRIPTS.walk_revisions()][::-1]


@contextlib.contextmanager
def empty(place):
    """An engine over a database without tables."""
    with open_history(place) as made:
        with made.engine.execution_options(dcka_write=True).begin() as connection:
            metadata.drop_all(connection)
            connection.execute(text(f"DROP TABLE {VERSION_TABLE}"))
        yield made.engine


def fill(connection):
    """A row in each table that version 1 has, as a program of that time wrote it."""
    execute = connection.exec_driver_sql
    true = "true" if connection.dialect.name == "postgresql" else "1"
    execute(
        "INSERT INTO runs (uid, network, number, kind, k, nodes, dataset, record, begun_at, unseen, heard_at,"
        " state, steps, missing, reason) VALUES ('0011223344556677', 'lab', 1, 'tree', 1, 1, 'aa',"
        f" '{{\"n\": 1, \"members\": [1]}}', 5.0, {true}, 9.0, 'running', 1, '[]', '')"
    )
    execute(
        "INSERT INTO commits (run_id, step, node, epoch, epoch_node, epoch_boot, at, boot, flags, ssd, contributors,"
        " missing, counts, centres) SELECT id, 1, 1, 0, 1, 1, 6.0, 1, 0, 7, '*', '[]', '[3]', "
        + ("'\\x0500'::bytea" if true == "true" else "x'0500'")
        + " FROM runs"
    )


def test_the_newest_version_is_the_tables(history):
    assert VERSIONS[-1] == HEAD
    with history.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
        assert compare_metadata(context, metadata) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_what_an_older_version_holds_is_there_after_it_was_opened(place, version):
    with empty(place) as engine:
        migrations.migrate(engine, version)
        with engine.execution_options(dcka_write=True).begin() as connection:
            fill(connection)
    if version != HEAD:
        with pytest.raises(HistoryError, match=r"of version .* may only be read here: it becomes version"):
            open_history(place, readonly=True)
    with open_history(place) as opened:
        run = opened.run("last")
        assert (run.number, run.state, run.verdict, run.unseen) == (1, "running", None, True)
        assert run.steps[0].centres.tolist() == [[5.0]] and run.steps[0].counts.tolist() == [3]
        recorded(opened, Heard("tree", 2).messages)
        assert [(run.number, run.state) for run in opened.runs()] == [(2, "finished"), (1, "failed")]


def test_an_older_program_refuses_what_a_newer_one_has_written(place):
    with (
        open_history(place) as opened,
        opened.engine.execution_options(dcka_write=True).begin() as connection,
    ):
        connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '9999'"))
    for readonly in (False, True):
        with pytest.raises(HistoryError, match=rf"version 9999.*up to {HEAD}.*newer dcka.*--history"):
            open_history(place, readonly)


def test_programs_that_open_a_new_history_at_once_all_have_it(place):
    call = "import sys; from dcka.history import open_history; print(len(open_history(sys.argv[1]).runs()))"
    started = [
        subprocess.Popen([sys.executable, "-c", call, place], stdout=subprocess.PIPE) for _ in range(3)
    ]
    assert [one.communicate()[0] for one in started] == [b"0\n"] * 3
    assert [one.returncode for one in started] == [0] * 3


def test_a_migration_that_breaks_off_leaves_all_as_it_was(place, monkeypatch):
    with empty(place) as engine:
        migrations.migrate(engine, "0001")
        made = []

        def add_column(table, column):
            made.append(column.name)
            if len(made) == 2:
                raise RuntimeError("power cut")
            real(table, column)

        real = op.add_column
        monkeypatch.setattr(op, "add_column", add_column)
        with pytest.raises(RuntimeError, match="power cut"):
            migrations.migrate(engine)
        monkeypatch.undo()
        with engine.connect() as connection:
            assert migrations.version_of(connection) == "0001"
            assert made[0] not in {column["name"] for column in inspect(connection).get_columns("runs")}
        migrations.migrate(engine)
        with engine.connect() as connection:
            assert migrations.version_of(connection) == HEAD


def test_somebody_elses_database_is_left_alone(tmp_path):
    file = tmp_path / "theirs.sqlite"
    with sqlite3.connect(file) as theirs:
        theirs.execute("CREATE TABLE runs (distance REAL)")
    theirs.close()
    before = file.read_bytes()
    with pytest.raises(HistoryError, match="tables of another program"):
        open_history(str(file))
    (tmp_path / "text").write_text("no database, but long enough to have a header " * 9)
    with pytest.raises(HistoryError, match="no SQLite database"):
        open_history(str(tmp_path / "text"))
    assert file.read_bytes()[100:] == before[100:]  # the header says that it is in WAL mode now, no more


def test_where_nothing_was_stored_a_reader_says_so_and_makes_nothing(tmp_path):
    with pytest.raises(HistoryUsageError, match=r"no history yet at .*dcka monitor and dcka run write one"):
        open_history(str(tmp_path / "none" / "history.sqlite"), readonly=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_can_be_read(tmp_path):
    _read_without_writing(tmp_path)


def test_a_copy_is_read_where_it_lies(tmp_path):
    _read_without_writing(tmp_path)


def _read_without_writing(folder):
    heard = Heard("tree")
    with open_history(str(folder / "history.sqlite")) as opened:
        expected = told(recorded(opened, heard.messages))
    for file in folder.iterdir():
        file.chmod(0o444)
    folder.chmod(0o555)
    try:
        with open_history(str(folder / "history.sqlite"), readonly=True) as opened:
            assert told(opened.run("last")) == expected
            with pytest.raises(HistoryError, match="may only be read"):
                opened.remove([expected["uid"]])
    finally:
        folder.chmod(0o755)


def test_a_place_that_is_none_is_refused_without_its_password():
    for wrong in (
        "mysql://me:secret@host/db",
        "postgresql//x://a:secret@b",
        "sqlite://",
        "sqlite:///:memory:",
        "://",
    ):
        with pytest.raises(UsageError, match="give a file") as caught:
            parse_place(wrong)
        assert "secret" not in str(caught.value)
    with pytest.raises(HistoryError, match="no PostgreSQL server answers there") as caught:
        open_history("postgresql://me:secret@127.0.0.1:1/dcka")
    assert "secret" not in str(caught.value) and "me:***@" in str(caught.value)


def test_the_place_is_the_named_one_or_the_environments_or_the_users_own(monkeypatch, tmp_path):
    monkeypatch.setenv("DCKA_HISTORY", str(tmp_path / "b.sqlite"))
    assert parse_place(str(tmp_path / "a.sqlite")).database == str(tmp_path / "a.sqlite")
    assert parse_place(None).database == str(tmp_path / "b.sqlite")
    monkeypatch.delenv("DCKA_HISTORY")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert parse_place(None).database == str(default_file())
    if sys.platform == "linux":
        assert default_file() == tmp_path / "dcka" / "history.sqlite"
    assert parse_place(f"sqlite:///{tmp_path}/c.sqlite").database == f"{tmp_path}/c.sqlite"
    assert parse_place("postgres://u@h/d").drivername == "postgresql+psycopg"
