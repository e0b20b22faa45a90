"""The first tables."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_ROW = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def _run() -> sa.Column[int]:
    return sa.Column("run_id", _ROW, sa.ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)


def _node() -> sa.Column[int]:
    return sa.Column("node", sa.Integer, primary_key=True, autoincrement=False)


def _step() -> list[sa.Column[int]]:
    return [
        sa.Column("step", sa.Integer, primary_key=True, autoincrement=False),
        _node(),
        sa.Column("epoch", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("epoch_node", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("epoch_boot", sa.BigInteger, primary_key=True, autoincrement=False),
    ]


def _told(name: str, kind: Any) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=False)


def upgrade() -> None:
    """Make them."""
    _about_runs()
    _of_runs()
    _about_networks()


def _about_runs() -> None:
    op.create_table(
        "datasets",
        sa.Column("network", sa.String(200), primary_key=True),
        sa.Column("dataset", sa.String(16), primary_key=True),
        _told("name", sa.Text()),
        sa.Column("unit", sa.Double),
        _told("record", sa.Text()),
        _told("at", sa.Double()),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "runs",
        sa.Column("id", _ROW, primary_key=True, autoincrement=True),
        sa.Column("uid", sa.String(16), nullable=False, unique=True),
        _told("network", sa.String(200)),
        _told("number", sa.BigInteger()),
        _told("kind", sa.String(16)),
        _told("k", sa.Integer()),
        _told("nodes", sa.Integer()),
        _told("dataset", sa.String(16)),
        _told("record", sa.Text()),
        _told("begun_at", sa.Double()),
        _told("unseen", sa.Boolean()),
        _told("heard_at", sa.Double()),
        _told("state", sa.String(16)),
        _told("steps", sa.Integer()),
        sa.Column("ssd", sa.BigInteger),
        sa.Column("converged", sa.Boolean),
        _told("missing", sa.Text()),
        _told("reason", sa.Text()),
        sa.Column("wall_s", sa.Double),
        sqlite_autoincrement=True,
    )
    op.create_index("runs_by_network", "runs", ["network", "number"])


def _of_runs() -> None:
    op.create_table("run_rows", _run(), _node(), _told("record", sa.Text()), sqlite_with_rowid=False)
    op.create_table(
        "steps",
        _run(),
        *_step(),
        _told("at", sa.Double()),
        _told("ssd", sa.BigInteger()),
        _told("flags", sa.SmallInteger()),
        sa.Column("missing", sa.Text),
        sa.Column("moved", sa.Boolean),
        sa.Column("slots", sa.Integer),
        sa.Column("put", sa.String(16)),
        sa.Column("centres", sa.LargeBinary),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "commits",
        _run(),
        *_step(),
        _told("at", sa.Double()),
        _told("boot", sa.BigInteger()),
        _told("flags", sa.SmallInteger()),
        _told("ssd", sa.BigInteger()),
        _told("contributors", sa.Text()),
        _told("missing", sa.Text()),
        _told("counts", sa.Text()),
        _told("centres", sa.LargeBinary()),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "results",
        _run(),
        _node(),
        _told("at", sa.Double()),
        _told("rebuilt", sa.Boolean()),
        _told("record", sa.Text()),
        sqlite_with_rowid=False,
    )


def _about_networks() -> None:
    op.create_table(
        "statuses",
        sa.Column("id", _ROW, primary_key=True, autoincrement=True),
        _told("network", sa.String(200)),
        _told("node", sa.Integer()),
        _told("at", sa.Double()),
        _told("retained", sa.Boolean()),
        _told("state", sa.String(16)),
        _told("run", sa.BigInteger()),
        _told("record", sa.Text()),
        _told("digest", sa.String(16)),
        _told("session", sa.String(32)),
    )
    op.create_index("statuses_by_time", "statuses", ["network", "at"])
    op.create_index("statuses_by_node", "statuses", ["network", "node", "id"])
    op.create_table(
        "events",
        sa.Column("id", _ROW, primary_key=True, autoincrement=True),
        _told("network", sa.String(200)),
        _told("at", sa.Double()),
        _told("kind", sa.String(16)),
        _told("text", sa.Text()),
        _told("bad", sa.Boolean()),
        _told("data", sa.Text()),
        _told("digest", sa.String(16)),
        _told("session", sa.String(32)),
    )
    op.create_index("events_by_time", "events", ["network", "at"])
    op.create_table(
        "sessions",
        sa.Column("id", sa.String(32), primary_key=True),
        _told("network", sa.String(200)),
        _told("began_at", sa.Double()),
        _told("seen_at", sa.Double()),
        sa.Column("ended_at", sa.Double),
    )
    op.create_index("sessions_by_network", "sessions", ["network", "seen_at"])
    op.create_table(
        "gaps",
        sa.Column("id", _ROW, primary_key=True, autoincrement=True),
        _told("network", sa.String(200)),
        _told("kind", sa.String(16)),
        _told("session", sa.String(32)),
        _told("began_at", sa.Double()),
        sa.Column("ended_at", sa.Double),
        sa.UniqueConstraint("session", "kind", "began_at", name="gaps_once"),
    )
    op.create_index("gaps_by_time", "gaps", ["network", "began_at"])
