"""A connection to the history's database, and what its errors say to a person."""

import sqlite3
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from dcka.history.errors import HistoryError, HistoryUsageError
from dcka.history.migrate import HEAD, migrate, require_known, version_of
from dcka.history.place import named

BUSY_S = 5.0
"""How long a statement waits for another writer's transaction, which takes milliseconds."""
_MODE_ATTEMPTS = 50


def open_database(url: URL, readonly: bool = False) -> Engine:
    """The engine over a history of today's version; made where there is none, unless `readonly`.

    Raises HistoryUsageError for a place where there is no database, or none can be; HistoryError where it can't be
    opened, or is of a version that is not known.
    """
    try:
        engine = _sqlite(url, readonly) if url.get_backend_name() == "sqlite" else _postgresql(url)
        try:
            with engine.connect() as connection:
                found = version_of(connection)
            if found != HEAD:
                _bring_up(engine, found, readonly, named(url))
        except BaseException:
            engine.dispose()
            raise
    except SQLAlchemyError as error:
        raise HistoryError(f"the history {named(url)} cannot be opened: {reason(error)}") from error
    except HistoryUsageError:
        raise
    except HistoryError as error:
        raise HistoryError(f"the history {named(url)} cannot be used: {error}") from error
    return engine


def _bring_up(engine: Engine, found: str | None, readonly: bool, where: str) -> None:
    require_known(found)
    if not readonly:
        migrate(engine)
    elif found is None:
        raise HistoryUsageError(f"{where} has no history yet; dcka monitor and dcka run write one")
    else:
        raise HistoryError(
            f"it is of version {found}, of an older dcka, and may only be read here: it becomes version {HEAD} where it"
            " can be written; make a copy, and name that with --history"
        )


def _postgresql(url: URL) -> Engine:
    try:
        import psycopg  # noqa: F401
    except ImportError:
        raise HistoryUsageError(
            f"{named(url)}: PostgreSQL needs the driver psycopg; install it with: pip install 'dcka[postgresql]'"
        ) from None
    return create_engine(url, pool_pre_ping=True, connect_args={"connect_timeout": 5})


def _sqlite(url: URL, readonly: bool) -> Engine:
    file = Path(str(url.database))
    if readonly:
        if not file.exists():
            raise HistoryUsageError(f"there is no history yet at {file}; dcka monitor and dcka run write one")
        return _sqlite_engine(lambda: _connect_readonly(file))
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HistoryError(
            f"its folder {file.parent} cannot be made ({error.strerror}); name another file with --history"
        ) from error

    def connect() -> sqlite3.Connection:
        opened = sqlite3.connect(file, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
        try:
            _write_ahead(opened)
            # A transaction that has ended is on the disk, whatever happens to the computer's power.
            opened.execute("PRAGMA synchronous=FULL")
            opened.execute("PRAGMA foreign_keys=ON")
        except BaseException:
            opened.close()
            raise
        return opened

    return _sqlite_engine(connect)


def _write_ahead(opened: sqlite3.Connection) -> None:
    """WAL: readers and the writer don't wait for each other. The switch itself does not wait for others: we do."""
    for attempt in range(_MODE_ATTEMPTS):
        try:
            opened.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or attempt == _MODE_ATTEMPTS - 1:
                raise
            time.sleep(BUSY_S / _MODE_ATTEMPTS)


def _connect_readonly(file: Path) -> sqlite3.Connection:
    """SQLite wants to write beside a file that it only reads; where it may not, and nobody else writes, it need not."""
    plain = f"file:{quote(str(file))}?mode=ro"
    log = file.with_name(file.name + "-wal")
    for uri in (plain, plain + "&immutable=1"):
        opened = sqlite3.connect(uri, uri=True, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
        try:
            opened.execute("SELECT count(*) FROM sqlite_master").fetchone()
            return opened
        except sqlite3.OperationalError:
            opened.close()
            if uri != plain or (log.exists() and log.stat().st_size):
                raise
    raise AssertionError("unreachable")


def _sqlite_engine(connect: Any) -> Engine:
    engine = create_engine("sqlite://", creator=connect, poolclass=NullPool)

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # A writer asks for the lock at once: one that first reads could not wait for it.
        writes = connection.get_execution_options().get("dcka_write")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def passes(error: SQLAlchemyError) -> bool:
    """Whether it is the place that fails, a full disk or a server that is away, and not what was to be written."""
    return isinstance(error, OperationalError) or (
        isinstance(error, DBAPIError) and error.connection_invalidated
    )


def reason(error: SQLAlchemyError) -> str:
    """One line, with what to do where that is known."""
    text = " ".join(str(getattr(error, "orig", None) or error).split())
    for words, told in _KNOWN:
        if words in text:
            return told
    return text[:300]


_KNOWN = (
    ("disk is full", "the disk is full"),
    ("No space left", "the disk is full"),
    ("database is locked", "another program holds it locked"),
    ("readonly database", "it may only be read"),
    ("unable to open database file", "the file cannot be opened: look at its folder's rights"),
    ("file is not a database", "it is no SQLite database; name another file with --history"),
    ("malformed", "it is damaged; move the file away, or bring a backup back"),
    ("Connection refused", "no PostgreSQL server answers there"),
    ("password authentication failed", "the server refuses this user's password"),
)
