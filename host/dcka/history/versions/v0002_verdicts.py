"""What a check has found of a run, beside the run; and the few that run are found among the many that have."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Three columns, for runs that are there have not been checked, and an index."""
    op.add_column("runs", sa.Column("verdict", sa.String(16)))
    op.add_column("runs", sa.Column("verdict_record", sa.Text))
    op.add_column("runs", sa.Column("checked_at", sa.Double))
    op.create_index("runs_by_state", "runs", ["network", "state"])
