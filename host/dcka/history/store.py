"""Writes batches: each in one transaction, and so that what was written before, by whomever, changes nothing."""

import json
from collections.abc import Iterable, Mapping
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, Engine, Table, case, func, select, update
from sqlalchemy.dialects import postgresql, sqlite

from dcka.history import schema
from dcka.history.batch import Batch, Row
from dcka.history.migrate import lock

RUNNING, FINISHED, PARTIAL, FAILED, UNKNOWN = "running", "finished", "partial", "failed", "unknown"
"""States of a run: as the monitor has them (`dcka.monitor.tally`), and `running`, of which no end is known."""

SAME_S = 5.0
"""Two monitors see one and the same status within so long."""


def dumps(value: object) -> str:
    """JSON in ASCII, without blanks, keys in order."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False, sort_keys=True, default=_plain)


def _plain(value: Any) -> Any:
    """numpy's numbers and arrays, sets and paths, as JSON has them."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return sorted(value) if isinstance(value, set | frozenset) else str(value)


class Store:
    """The writing side of an engine. From one thread at a time."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine.execution_options(dcka_write=True)
        self._insert: Any = (postgresql if engine.dialect.name == "postgresql" else sqlite).insert
        self._connection: Connection | None = None
        self._ids: dict[str, int] = {}
        self._many: dict[tuple[str, ...], tuple[str, list[str] | None]] = {}

    def close(self) -> None:
        """Give the connection back."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def write(self, batch: Batch) -> None:
        """All of it or nothing. Raises SQLAlchemyError."""
        try:
            if self._connection is None:
                self._connection = self._engine.connect()
            with self._connection.begin():
                lock(self._connection)
                self._write(self._connection, batch)
        except BaseException:
            # Whatever state it is in, the next one begins anew; ids of runs that were rolled back are none.
            self._ids.clear()
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.invalidate()
                connection.close()
            raise

    def _write(self, connection: Connection, batch: Batch) -> None:
        if batch.session is not None:
            self._put_session(connection, batch.session)
        self._once(connection, schema.gaps, batch.gaps, update=("ended_at",))
        self._once(connection, schema.datasets, batch.datasets)
        self._put_runs(connection, batch.runs)
        for row in batch.ended:
            self._end(connection, row["network"], row["at"], FAILED)
        ids = self._ids_of(connection, batch.uids())
        for table, by_run in (
            (schema.run_rows, batch.run_rows),
            (schema.steps, batch.steps),
            (schema.commits, batch.commits),
        ):
            self._once(connection, table, _with_ids(by_run, ids))
        self._put_results(connection, _with_ids(batch.results, ids))
        for uid in (batch.steps.keys() | batch.commits.keys() | batch.results.keys()) & ids.keys():
            self._refresh(connection, ids[uid], batch, uid)
        for uid in batch.outcomes.keys() & ids.keys():
            runs = schema.runs
            connection.execute(update(runs).where(runs.c.id == ids[uid]).values(batch.outcomes[uid]))
        self._put_seen(connection, schema.statuses, batch.statuses)
        self._put_seen(connection, schema.events, batch.events)

    def _once(
        self, connection: Connection, table: Table, rows: list[Row], update: tuple[str, ...] = ()
    ) -> None:
        """Rows that are there already stay as they are, but for the columns of `update`."""
        if not rows:
            return
        insert = self._insert(table)
        if not update:
            self._put_many(connection, table, rows)
            return
        keys = ["session", "kind", "began_at"]
        insert = insert.on_conflict_do_update(
            index_elements=keys, set_={name: insert.excluded[name] for name in update}
        )
        connection.execute(insert, rows)

    def _put_many(self, connection: Connection, table: Table, rows: list[Row]) -> None:
        """Thousands a second: straight to the driver, for SQLAlchemy looks at each value of each row."""
        key = table.name, *rows[0]
        known = self._many.get(key)
        if known is None:
            insert = self._insert(table).on_conflict_do_nothing()
            compiled = insert.compile(dialect=self._engine.dialect, column_keys=list(rows[0]))
            known = self._many[key] = str(compiled), compiled.positiontup
        statement, names = known
        values = list(map(itemgetter(*names), rows)) if names else rows
        connection.exec_driver_sql(statement, values)

    def _put_session(self, connection: Connection, row: Row) -> None:
        insert = self._insert(schema.sessions)
        changed = {name: insert.excluded[name] for name in ("seen_at", "ended_at")}
        connection.execute(insert.on_conflict_do_update(index_elements=["id"], set_=changed), [row])

    def _put_runs(self, connection: Connection, rows: Mapping[str, Row]) -> None:
        """A run that takes the place of others ends them, if nobody has told of their end."""
        runs = schema.runs
        for row in rows.values():
            insert = self._insert(runs)
            new = insert.excluded
            earlier = case((new.begun_at < runs.c.begun_at, new.begun_at), else_=runs.c.begun_at)
            seen = runs.c.unseen & new.unseen
            connection.execute(
                insert.on_conflict_do_update(
                    index_elements=["uid"], set_={"begun_at": earlier, "unseen": seen}
                ),
                [row],
            )
            stored = connection.execute(
                select(runs.c.id, runs.c.begun_at).where(runs.c.uid == row["uid"])
            ).one()
            self._ids[row["uid"]] = stored.id
            self._end(connection, row["network"], stored.begun_at, UNKNOWN if row["unseen"] else FAILED)

    def _end(self, connection: Connection, network: str, before: float, state: str) -> None:
        """What began earlier no longer runs."""
        runs = schema.runs
        connection.execute(
            update(runs)
            .where(runs.c.network == network, runs.c.begun_at < before, runs.c.state == RUNNING)
            .values(state=state)
        )

    def _ids_of(self, connection: Connection, uids: Iterable[str]) -> dict[str, int]:
        unknown = [uid for uid in uids if uid not in self._ids]
        if unknown:
            runs = schema.runs
            found = connection.execute(select(runs.c.uid, runs.c.id).where(runs.c.uid.in_(unknown)))
            self._ids.update({row.uid: row.id for row in found})
        return self._ids

    def _put_results(self, connection: Connection, rows: list[Row]) -> None:
        """What a node has said itself stands before what follows from its commit."""
        if not rows:
            return
        table = schema.results
        insert = self._insert(table)
        said = {name: insert.excluded[name] for name in ("at", "rebuilt", "record")}
        connection.execute(
            insert.on_conflict_do_update(
                index_elements=["run_id", "node"],
                set_=said,
                where=table.c.rebuilt | ~insert.excluded.rebuilt,
            ),
            rows,
        )

    def _refresh(self, connection: Connection, run_id: int, batch: Batch, uid: str) -> None:
        """What a list shows of a run, from what is now stored of it."""
        runs = schema.runs
        told = [row["step"] + 1 for row in batch.steps.get(uid, ())]
        told += [row["step"] for row in batch.commits.get(uid, ())]
        at = max(
            row["at"] for part in (batch.steps, batch.commits, batch.results) for row in part.get(uid, ())
        )
        steps = max(told, default=0)
        values: Row = {
            "steps": case((runs.c.steps < steps, steps), else_=runs.c.steps),
            "heard_at": case((runs.c.heard_at < at, at), else_=runs.c.heard_at),
        }
        if batch.results.get(uid):
            values |= self._outcome(connection, run_id)
        connection.execute(update(runs).where(runs.c.id == run_id).values(values))

    def _outcome(self, connection: Connection, run_id: int) -> Row:
        run = connection.execute(
            select(schema.runs.c.record, schema.runs.c.kind).where(schema.runs.c.id == run_id)
        ).one()
        said = connection.execute(
            select(schema.results.c.node, schema.results.c.record).where(schema.results.c.run_id == run_id)
        )
        return outcome_of(
            json.loads(run.record)["members"], run.kind, {row.node: json.loads(row.record) for row in said}
        )

    def _put_seen(self, connection: Connection, table: Table, rows: list[Row]) -> None:
        """Rows that no other monitor has stored of the same moment."""
        if not rows:
            return
        columns = table.c
        times = [row["at"] for row in rows]
        known = connection.execute(
            select(columns.digest, columns.at, columns.network, columns.session).where(
                columns.network.in_({row["network"] for row in rows}),
                columns.at.between(min(times) - SAME_S, max(times) + SAME_S),
            )
        ).all()
        kept = [
            row
            for row in rows
            if not any(_same(row, other) for other in known) and not self._is_last(connection, table, row)
        ]
        if kept:
            connection.execute(table.insert(), kept)

    def _is_last(self, connection: Connection, table: Table, row: Row) -> bool:
        """Whether a retained status is what was stored last of its node: it may be as old as that."""
        if not row.get("retained"):
            return False
        columns = table.c
        last = select(columns.digest).where(columns.network == row["network"], columns.node == row["node"])
        return bool(connection.scalar(last.order_by(columns.id.desc()).limit(1)) == row["digest"])

    def last_seen(self, network: str) -> float | None:
        """When a monitor of the network was last alive. Raises SQLAlchemyError."""
        with self._engine.connect() as connection:
            seen = select(func.max(schema.sessions.c.seen_at)).where(schema.sessions.c.network == network)
            found: float | None = connection.execute(seen).scalar()
            return found


def outcome_of(members: list[int], kind: str, results: Mapping[int, Row]) -> Row:
    """`state`, `steps`, `ssd`, `converged`, `missing` of a run, by its nodes' results; {} before all have one."""
    missing = {one for result in results.values() for one in result.get("missing", ()) if one in members}
    if not results or not set(members) <= results.keys() | missing:
        return {}
    said = [result["ssd"] for result in results.values()]
    ssd = sum(said) if kind == "gossip" else max(said)
    return {
        "state": PARTIAL if missing else FINISHED,
        "steps": max(result["steps"] for result in results.values()),
        "ssd": ssd if ssd < 1 << 63 else None,
        "converged": all(result["converged"] for result in results.values()),
        "missing": dumps(sorted(missing)),
    }


def _with_ids(by_run: Mapping[str, list[Row]], ids: Mapping[str, int]) -> list[Row]:
    rows = []
    for uid, own in by_run.items():
        if uid not in ids:
            continue  # somebody has removed the run meanwhile
        id_ = ids[uid]
        for row in own:
            row["run_id"] = id_
        rows += own
    return rows


def _same(row: Row, other: Any) -> bool:
    """Whether the stored row is this one, written before, or another monitor's of the same moment."""
    if (row["digest"], row["network"]) != (other.digest, other.network):
        return False
    apart = abs(row["at"] - other.at)
    return bool(apart == 0 if row["session"] == other.session else apart <= SAME_S)
