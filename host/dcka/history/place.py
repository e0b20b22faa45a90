"""Where a history is: a file of SQLite, or a server by its URL."""

import os
from pathlib import Path

from platformdirs import user_data_path
from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from dcka.history.errors import HistoryUsageError

VARIABLE = "DCKA_HISTORY"
FILE = "history.sqlite"


def default_file() -> Path:
    """`history.sqlite` in the folder in which this platform keeps a user's data of dcka."""
    return user_data_path("dcka", appauthor=False) / FILE


def parse_place(text: str | None) -> URL:
    """The database of a path or an URL; None or "": that of DCKA_HISTORY, or the user's own file.

    Raises HistoryUsageError for an URL of no database that dcka knows.
    """
    said = text or os.environ.get(VARIABLE) or ""
    if "://" not in said:
        file = Path(said).expanduser().absolute() if said else default_file()
        return URL.create("sqlite", database=str(file))
    try:
        url = make_url(said)
    except (ArgumentError, ValueError):
        raise HistoryUsageError(f"{_safe(said)}: no URL of a database; {_FORMS}") from None
    backend = url.drivername.partition("+")[0]
    if backend == "sqlite":
        if not url.database or url.database == ":memory:":
            raise HistoryUsageError(f"{said}: a history needs a file; {_FORMS}")
        return URL.create("sqlite", database=str(Path(url.database).absolute()))
    if backend in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+psycopg")
    raise HistoryUsageError(f"{_safe(said)}: dcka keeps a history in SQLite or PostgreSQL; {_FORMS}")


_FORMS = "give a file, such as history.sqlite, or postgresql://USER@HOST/DATABASE"


def is_own_and_new(text: str | None) -> Path | None:
    """The user's own file, where that is meant, and nothing was ever stored in it; else None."""
    if text or os.environ.get(VARIABLE) or default_file().exists():
        return None
    return default_file()


def named(url: URL) -> str:
    """For a sentence: the file, or the URL without its password."""
    if url.get_backend_name() == "sqlite":
        return str(url.database)
    return url.set(drivername="postgresql").render_as_string(hide_password=True)


def _safe(text: str) -> str:
    """An URL that could not be read, without what may be a password."""
    head, slashes, rest = text.partition("://")
    return head + slashes + rest.rpartition("@")[2]
