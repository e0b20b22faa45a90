"""Every run that was seen, in a database: SQLite for one computer, PostgreSQL for many. See docs/history.md.

`open_history` → `History` (reading) → `StoredRun`; `Recorder` writes what a monitor sees. Inside: `transcriber`
(messages to rows, pure), `store` (rows into the database, once), `schema` and `versions/` (the tables), `database`
and `place`. SQLAlchemy and alembic are imported here and nowhere else.
"""

from dcka.history.errors import HistoryError, HistoryUsageError, NoSuchRun
from dcka.history.history import History, open_history
from dcka.history.outcomes import Checked, record_outcome
from dcka.history.recorder import Recorder
from dcka.history.stored import Gap, StoredEvent, StoredRun, StoredStatus, StoredStep

__all__ = [
    "Checked",
    "Gap",
    "History",
    "HistoryError",
    "HistoryUsageError",
    "NoSuchRun",
    "Recorder",
    "StoredEvent",
    "StoredRun",
    "StoredStatus",
    "StoredStep",
    "open_history",
    "record_outcome",
]
