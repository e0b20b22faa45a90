"""What a check has found of a run, beside the run."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Three columns; runs that are there have not been checked."""
    op.add_column("runs", sa.Column("verdict", sa.String(16)))
    op.add_column("runs", sa.Column("verdict_record", sa.Text))
    op.add_column("runs", sa.Column("checked_at", sa.Double))
