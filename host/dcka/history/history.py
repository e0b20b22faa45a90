"""`open_history`: a history to read from, and to record into."""

import json
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Any, Self, cast

from sqlalchemy import Engine, Row, Select, delete, func, or_, select
from sqlalchemy.exc import SQLAlchemyError

from dcka.history import schema
from dcka.history.database import open_database, reason
from dcka.history.errors import HistoryError, NoSuchRun
from dcka.history.listing import listing, summary_of, wanted_runs
from dcka.history.place import named, parse_place
from dcka.history.reading import steps_of
from dcka.history.stored import Gap, Json, StoredEvent, StoredRun, StoredStatus, StoredStep

LAST = "last"
UNSEEN_S = 10.0
"""A run that had begun before we listened: a monitor that was away until so long before is why."""
_EDGE_S = 1.0


class History:
    """A database of runs. Reading is safe from any thread. `name`: the file, or the URL without its password.

    Every method raises HistoryError where the database can't be read.
    """

    def __init__(self, engine: Engine, name: str) -> None:
        self.engine = engine
        self.name = name

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the connections back."""
        self.engine.dispose()

    # ---- runs ----

    def runs(
        self,
        network: str | None = None,
        limit: int | None = 50,
        before: int | None = None,
        kinds: Sequence[str] = (),
        state: str | None = None,
        since: float | None = None,
    ) -> list[StoredRun]:
        """The newest first; `limit` None: all. `before`: the `id` of the last one of the page before. `since`: begun
        then or later, in seconds since 1970."""
        wanted = wanted_runs(network, limit, before, kinds, state, since)
        return [self._run_of(row) for row in self._all(wanted)]

    def summaries(
        self,
        network: str | None = None,
        limit: int | None = 50,
        before: int | None = None,
        kinds: Sequence[str] = (),
        state: str | None = None,
        since: float | None = None,
    ) -> list[Json]:
        """What `StoredRun.summary` says of each of `runs`, and no more than that: in a third of the time."""
        wanted = wanted_runs(network, limit, before, kinds, state, since)
        try:
            with self.engine.connect() as connection:
                # The driver's own rows, one by one: SQLAlchemy's take half as long again, and the garbage collector
                # would look at each of ten thousand at once.
                rows: Any = connection.execute(wanted).cursor
                return [summary_of(row) for row in rows]
        except SQLAlchemyError as error:
            raise HistoryError(f"the history {self.name} cannot be read: {reason(error)}") from error

    def run(self, ref: str | int, network: str | None = None) -> StoredRun:
        """The run that `ref` names: `12`, `greenhouse/12`, `last`, or the first digits of its unique id, four at least.

        Of several with one number in a network, whose numbers began anew, the newest. `network`: where `ref` names
        none. Raises NoSuchRun where there is none, or where several networks have one.
        """
        text = str(ref).strip()
        if "/" in text:
            network, _, text = text.rpartition("/")
        found = self._matching(text, network)
        if not found:
            where = f" of network {network}" if network else ""
            raise NoSuchRun(f"{self.name} has no run {ref}{where}; dcka results list shows what it has")
        networks = sorted({run.network for run in found})
        if len(networks) > 1:
            these = " or ".join(f"{name}/{found[0].number}" for name in networks[:4])
            raise NoSuchRun(f"several networks have a run {ref}: say {these}")
        return found[0]

    def _matching(self, text: str, network: str | None) -> list[StoredRun]:
        runs = schema.runs.c
        if text == LAST:
            return self.runs(network, limit=1)
        wanted = listing().order_by(runs.id.desc())
        if network is not None:
            wanted = wanted.where(runs.network == network)
        if text.isascii() and text.isdigit() and len(text) < 19:
            found = [
                self._run_of(row) for row in self._all(wanted.where(runs.number == int(text)).limit(200))
            ]
            if found:
                return found
        if len(text) >= 4 and all(sign in "0123456789abcdef" for sign in text.lower()):
            like = wanted.where(runs.uid.startswith(text.lower(), autoescape=True))
            found = [self._run_of(row) for row in self._all(like.limit(3))]
            if len(found) > 1:
                raise NoSuchRun(f"{text} is the beginning of several runs' ids: give more digits")
            return found
        return []

    def networks(self) -> dict[str, int]:
        """How many runs each has."""
        runs = schema.runs.c
        found = self._all(
            select(runs.network, func.count().label("runs")).group_by(runs.network).order_by(runs.network)
        )
        return {row.network: row.runs for row in found}

    def remove(self, uids: Iterable[str]) -> int:
        """Remove runs with all that is stored of them; how many there were."""
        wanted = list(uids)
        try:
            with self.engine.execution_options(dcka_write=True).begin() as connection:
                done = 0
                for at in range(0, len(wanted), 500):
                    gone = delete(schema.runs).where(schema.runs.c.uid.in_(wanted[at : at + 500]))
                    done += connection.execute(gone).rowcount
                return done
        except SQLAlchemyError as error:
            raise HistoryError(f"the history {self.name} cannot be changed: {reason(error)}") from error

    # ---- of one run; what StoredRun asks for ----

    def run_record(self, run: StoredRun) -> Json:
        """Its record."""
        return self._json(select(schema.runs.c.record).where(schema.runs.c.id == run.id)) or {}

    def dataset_record(self, run: StoredRun) -> Json | None:
        """That of its data set."""
        table = schema.datasets
        return self._json(
            select(table.c.record).where(table.c.network == run.network, table.c.dataset == run.dataset)
        )

    def rows(self, run: StoredRun) -> dict[int, Json]:
        """The schedule's."""
        return self._by_node(schema.run_rows, run)

    def results(self, run: StoredRun) -> dict[int, Json]:
        """The nodes'."""
        return self._by_node(schema.results, run)

    def steps(self, run: StoredRun) -> list[StoredStep]:
        """In order."""
        told, commits = schema.steps, schema.commits
        return steps_of(
            run,
            self._all(select(told).where(told.c.run_id == run.id)),
            self._all(select(commits).where(commits.c.run_id == run.id)),
        )

    def sizes(self, run: StoredRun) -> dict[str, int]:
        """Rows of the run in each of the tables `steps`, `commits` and `results`."""
        return {
            table.name: self._all(select(func.count()).select_from(table).where(table.c.run_id == run.id))[0][
                0
            ]
            for table in (schema.steps, schema.commits, schema.results)
        }

    def statuses(self, run: StoredRun) -> list[StoredStatus]:
        """Of its members."""
        table, members = schema.statuses, set(run.members)
        return [
            StoredStatus(row.node, row.at, row.state, row.retained, row.run, json.loads(row.record))
            for row in self._all(_while(table, run))
            if row.node in members
        ]

    def events(self, run: StoredRun) -> list[StoredEvent]:
        """Of its network."""
        return [
            StoredEvent(row.kind, row.at, row.text, row.bad, json.loads(row.data))
            for row in self._all(_while(schema.events, run))
        ]

    def gaps(self, run: StoredRun) -> list[Gap]:
        """Those that another monitor has not seen through."""
        table, sessions = schema.gaps, schema.sessions.c
        since = run.begun_at - (UNSEEN_S if run.unseen else 0.0)
        others = select(sessions.id).where(
            sessions.network == table.c.network,
            sessions.id != table.c.session,
            sessions.began_at <= table.c.began_at,
            sessions.seen_at >= table.c.ended_at,
        )
        found = self._all(
            select(table.c.kind, table.c.began_at, table.c.ended_at)
            .where(table.c.network == run.network, table.c.began_at <= run.heard_at)
            .where(or_(table.c.ended_at.is_(None), table.c.ended_at >= since))
            .where(or_(table.c.kind != "monitor", ~others.exists()))
            .order_by(table.c.began_at)
        )
        gaps = [Gap(row.kind, row.began_at, row.ended_at) for row in found]
        if run.unseen and not any(gap.kind == "monitor" for gap in gaps):
            gaps.insert(0, Gap("unseen", None, run.begun_at))
        return gaps

    def check(self, run: StoredRun) -> Json | None:
        """What a check has found."""
        column = schema.runs.c.verdict_record
        return self._json(select(column).where(schema.runs.c.id == run.id, column.is_not(None)))

    # ---- inside ----

    def _by_node(self, table: Any, run: StoredRun) -> dict[int, Json]:
        rows = self._all(
            select(table.c.node, table.c.record).where(table.c.run_id == run.id).order_by(table.c.node)
        )
        return {row.node: json.loads(row.record) for row in rows}

    def _json(self, wanted: Select[Any]) -> Json | None:
        rows = self._all(wanted)
        if not rows:
            return None
        record: Json = json.loads(rows[0][0])
        return record

    def _all(self, wanted: Select[Any]) -> Sequence[Row[Any]]:
        try:
            with self.engine.connect() as connection:
                return connection.execute(wanted).all()
        except SQLAlchemyError as error:
            raise HistoryError(f"the history {self.name} cannot be read: {reason(error)}") from error

    def _run_of(self, row: Row[Any]) -> StoredRun:
        """Of `_listing`. By place: of ten thousand rows, names would take as long as all the rest."""
        *before, state, steps, ssd, converged, missing, reason, wall_s, verdict, _, name, unit = cast(
            "tuple[Any, ...]", row
        )
        id_, uid, network, number, kind, k, nodes, dataset, begun_at, unseen, heard_at = before
        return StoredRun(
            id_,
            uid,
            network,
            number,
            kind,
            k,
            nodes,
            dataset,
            name or "",
            begun_at,
            unseen,
            heard_at,
            state,
            steps,
            None if ssd is None else ssd * (1.0 if unit is None else unit),
            unit is not None,
            converged,
            () if missing == "[]" else tuple(json.loads(missing)),
            reason,
            wall_s,
            verdict,
            self,
        )


def _while(table: Any, run: StoredRun) -> Select[Any]:
    """Rows of its network from its beginning to its end."""
    at = table.c.at
    within = at.between(run.begun_at - _EDGE_S, run.heard_at + _EDGE_S)
    return select(table).where(table.c.network == run.network, within).order_by(table.c.id)


def open_history(place: str | None = None, readonly: bool = False) -> History:
    """The history at a path or an URL; None: that of DCKA_HISTORY, or the user's own file.

    It is made where there is none, and brought to today's version where it is older, but where `readonly`: then only
    what is there is read, and the file may be another's. Raises HistoryError, HistoryUsageError.
    """
    url = parse_place(place)
    return History(open_database(url, readonly), named(url))
