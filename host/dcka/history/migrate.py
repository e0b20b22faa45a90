"""From whatever version a history has to today's, in one transaction. Alembic is imported only for that."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Column as _Column
from sqlalchemy import Connection, MetaData, String, Table, inspect, select
from sqlalchemy.engine import Engine

from dcka.history.errors import HistoryError

if TYPE_CHECKING:
    from alembic.script import ScriptDirectory

HEAD = "0002"
"""The version of `schema.py`: the newest in `versions/`."""
VERSION_TABLE = "dcka_history_version"
_version = Table(VERSION_TABLE, MetaData(), _Column("version_num", String(32), primary_key=True))
_LOCK = 0x64636B61
"""Of PostgreSQL's advisory locks the one that writers and migrations of a history take, in its database."""


def version_of(connection: Connection) -> str | None:
    """The version that a database has; None for an empty one. Raises HistoryError for somebody else's database."""
    tables = set(inspect(connection).get_table_names())
    if VERSION_TABLE in tables:
        return connection.execute(select(_version.c.version_num)).scalar()
    if tables & {"runs", "steps", "results"}:
        raise HistoryError("it holds tables of another program; name another file or database with --history")
    return None


def migrate(engine: Engine, to: str = HEAD) -> None:
    """Bring the database to version `to`. Two programs that do it at once wait for each other.

    Raises HistoryError for a version that this program does not know.
    """
    with engine.execution_options(dcka_write=True).begin() as connection:
        lock(connection)
        known = version_of(connection)
        if known == to:
            return
        script = _scripts()
        require_known(known, script)
        _upgrade(connection, script, to)


def require_known(version: str | None, script: "ScriptDirectory | None" = None) -> None:
    """Raises HistoryError for a version that is newer than this program."""
    if version in (None, HEAD):
        return
    script = script or _scripts()
    if version not in {entry.revision for entry in script.walk_revisions()}:
        raise HistoryError(
            f"it is of version {version}, and this dcka knows versions up to {HEAD}: a newer dcka has written it; "
            "install that one, or name another history with --history"
        )


def lock(connection: Connection) -> None:
    """Wait for the other writers. SQLite does so by itself, in BEGIN IMMEDIATE."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")


def _scripts() -> "ScriptDirectory":
    from alembic.script import ScriptDirectory

    return ScriptDirectory(
        str(Path(__file__).parent), version_locations=[str(Path(__file__).parent / "versions")]
    )


def _upgrade(connection: Connection, script: "ScriptDirectory", to: str) -> None:
    from alembic.config import Config
    from alembic.runtime.environment import EnvironmentContext

    def steps(version: Any, _: Any) -> Any:
        return script._upgrade_revs(to, version)

    with EnvironmentContext(Config(), script, fn=steps, destination_rev=to) as environment:
        # The transaction is ours: either all steps are made or none.
        environment.configure(connection=connection, version_table=VERSION_TABLE, transactional_ddl=False)
        environment.run_migrations()
