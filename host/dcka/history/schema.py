"""The tables. What makes a row one and the same, whoever has seen it, is its primary key or a unique one.

Times are seconds since 1970, UTC. JSON is text, in ASCII: what a node makes up is then stored by every database. Levels
of the grid are `u16`, little-endian, as the protocol sends them. Whoever changes a table adds a file to `versions/`.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData()

_ROW = BigInteger().with_variant(Integer, "sqlite")  # SQLite counts rows up by itself for INTEGER alone


def _run() -> Column[int]:
    return Column("run_id", _ROW, ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)


def _node() -> Column[int]:
    return Column("node", Integer, primary_key=True, autoincrement=False)


def _epoch(primary: bool = False) -> list[Column[int]]:
    """The epoch's number, node and boot; zeros in `gossip`."""
    return [
        Column("epoch", BigInteger, primary_key=primary, autoincrement=False, nullable=False),
        Column("epoch_node", Integer, primary_key=primary, autoincrement=False, nullable=False),
        Column("epoch_boot", BigInteger, primary_key=primary, autoincrement=False, nullable=False),
    ]


datasets = Table(
    "datasets",
    metadata,
    Column("network", String(200), primary_key=True),
    Column("dataset", String(16), primary_key=True),
    Column("name", Text, nullable=False),
    Column("unit", Double),  # what an SSD of the grid is multiplied with; NULL: on no grid yet
    Column("record", Text, nullable=False),
    Column("at", Double, nullable=False),
    sqlite_with_rowid=False,
)

runs = Table(
    "runs",
    metadata,
    Column("id", _ROW, primary_key=True, autoincrement=True),
    Column("uid", String(16), nullable=False, unique=True),
    Column("network", String(200), nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("k", Integer, nullable=False),
    Column("nodes", Integer, nullable=False),
    Column("dataset", String(16), nullable=False),
    Column("record", Text, nullable=False),
    Column("begun_at", Double, nullable=False),
    Column("unseen", Boolean, nullable=False),  # nobody listened when it began
    Column("heard_at", Double, nullable=False),
    Column("state", String(16), nullable=False),
    Column("steps", Integer, nullable=False),
    Column("ssd", BigInteger),
    Column("converged", Boolean),
    Column("missing", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("wall_s", Double),
    Column("verdict", String(16)),
    Column("verdict_record", Text),
    Column("checked_at", Double),
    Index("runs_by_network", "network", "number"),
    Index("runs_by_state", "network", "state"),
    sqlite_autoincrement=True,  # an id is never given again: it is the mark that a page of a list ends with
)

run_rows = Table(
    "run_rows", metadata, _run(), _node(), Column("record", Text, nullable=False), sqlite_with_rowid=False
)

steps = Table(
    "steps",
    metadata,
    _run(),
    Column("step", Integer, primary_key=True, autoincrement=False),
    _node(),
    *_epoch(primary=True),
    Column("at", Double, nullable=False),
    Column("ssd", BigInteger, nullable=False),
    Column("flags", SmallInteger, nullable=False),
    Column("missing", Text),
    Column("moved", Boolean),
    Column("slots", Integer),
    Column("put", String(16)),
    Column("centres", LargeBinary),
    sqlite_with_rowid=False,
)

commits = Table(
    "commits",
    metadata,
    _run(),
    Column("step", Integer, primary_key=True, autoincrement=False),
    _node(),
    *_epoch(primary=True),
    Column("at", Double, nullable=False),
    Column("boot", BigInteger, nullable=False),
    Column("flags", SmallInteger, nullable=False),
    Column("ssd", BigInteger, nullable=False),
    Column("contributors", Text, nullable=False),
    Column("missing", Text, nullable=False),
    Column("counts", Text, nullable=False),
    Column("centres", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)

results = Table(
    "results",
    metadata,
    _run(),
    _node(),
    Column("at", Double, nullable=False),
    Column("rebuilt", Boolean, nullable=False),
    Column("record", Text, nullable=False),
    sqlite_with_rowid=False,
)

statuses = Table(
    "statuses",
    metadata,
    Column("id", _ROW, primary_key=True, autoincrement=True),
    Column("network", String(200), nullable=False),
    Column("node", Integer, nullable=False),
    Column("at", Double, nullable=False),
    Column("retained", Boolean, nullable=False),
    Column("state", String(16), nullable=False),
    Column("run", BigInteger, nullable=False),
    Column("record", Text, nullable=False),
    Column("digest", String(16), nullable=False),
    Column("session", String(32), nullable=False),
    Index("statuses_by_time", "network", "at"),
    Index("statuses_by_node", "network", "node", "id"),
)

events = Table(
    "events",
    metadata,
    Column("id", _ROW, primary_key=True, autoincrement=True),
    Column("network", String(200), nullable=False),
    Column("at", Double, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("text", Text, nullable=False),
    Column("bad", Boolean, nullable=False),
    Column("data", Text, nullable=False),
    Column("digest", String(16), nullable=False),
    Column("session", String(32), nullable=False),
    Index("events_by_time", "network", "at"),
)

sessions = Table(
    "sessions",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("network", String(200), nullable=False),
    Column("began_at", Double, nullable=False),
    Column("seen_at", Double, nullable=False),
    Column("ended_at", Double),
    Index("sessions_by_network", "network", "seen_at"),
)

gaps = Table(
    "gaps",
    metadata,
    Column("id", _ROW, primary_key=True, autoincrement=True),
    Column("network", String(200), nullable=False),
    Column("kind", String(16), nullable=False),  # monitor, broker, store
    Column("session", String(32), nullable=False),
    Column("began_at", Double, nullable=False),
    Column("ended_at", Double),
    UniqueConstraint("session", "kind", "began_at", name="gaps_once"),
    Index("gaps_by_time", "network", "began_at"),
)
