"""Jobs, done here, on several processors, or on a Dask cluster; what was finished before is not done again."""

import os
import signal
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from dcka.experiments.errors import ExperimentError, ExperimentUsageError
from dcka.experiments.network import Table
from dcka.experiments.store import Store
from dcka.experiments.work import Job, Row, perform

Values = Mapping[str, Table | None]
"""For each data set its points, or None where a job makes them."""
Progress = Callable[[int, int], None]
Done = Iterator[tuple[Job, list[Row]]]
Workers = Callable[[Sequence[Job], Values], Done]
"""Whoever does jobs: yields each with its rows as it is finished, in any order."""

CONNECT_S = 5
WORKERS_S = 30
"""For the first worker: it may have been started a moment ago, and takes seconds to import what it needs."""
ATTEMPTS = 3
"""How often a job is given to a cluster: its worker may die, and the points with it."""
MOST_A_PROCESSOR = 4
"""Processes: each has numpy and numba in memory (200 MB), and beyond one a processor they only wait for each other."""


def one_by_one(jobs: Sequence[Job], values: Values) -> Done:
    """The workers of `perform_all` where there are no others: this process."""
    for job in jobs:
        yield job, perform(job, values[job.data])


@contextmanager
def workers(processes: int = 1, scheduler: str = "") -> Iterator[Workers]:
    """Those that `processes` (on this computer) and `scheduler` (a Dask cluster's address, or "") ask for.

    Asked for before anything is computed or written: raises ExperimentUsageError where no scheduler answers at that
    address, for more processes than this computer can carry, and for both at once.
    """
    if scheduler:
        if processes != 1:
            raise ExperimentUsageError(
                f"--jobs {processes} is for this computer and --scheduler for a cluster; give one of them"
            )
        with _connected(scheduler) as client:
            yield lambda jobs, values: _on_cluster(client, scheduler, jobs, values)
        return
    processors = os.cpu_count() or 1
    if not 1 <= processes <= MOST_A_PROCESSOR * processors:
        raise ExperimentUsageError(
            f"--jobs {processes}: from 1 to {MOST_A_PROCESSOR * processors}, this computer having {processors} "
            f"processors"
        )
    yield one_by_one if processes == 1 else lambda jobs, values: _side_by_side(processes, jobs, values)


def perform_all(
    jobs: Sequence[Job], values: Values, store: Store, progress: Progress, by: Workers = one_by_one
) -> list[Row]:
    """The rows of all jobs, in the jobs' order; each is kept in `store` as it is finished.

    `progress` is told (finished, all). Raises ExperimentError where a job fails on the cluster in every attempt.
    """
    found = {job: rows for job in jobs if (rows := store.kept(job)) is not None}
    progress(len(found), len(jobs))
    left = [job for job in jobs if job not in found]
    for job, rows in by(left, values) if left else ():
        store.keep(job, rows)
        found[job] = rows
        progress(len(found), len(jobs))
    return [row for job in jobs for row in found[job]]


def _side_by_side(processes: int, jobs: Sequence[Job], values: Values) -> Done:
    from joblib import Parallel, delayed
    from joblib.externals.loky import get_reusable_executor

    pool = Parallel(n_jobs=min(processes, len(jobs)), return_as="generator_unordered", mmap_mode="r")
    try:
        with _interrupts_held():
            done = pool(delayed(_with_job)(job, values[job.data]) for job in jobs)
        yield from done
    finally:  # joblib would keep the processes for a next call
        get_reusable_executor().shutdown(wait=True, kill_workers=True)


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Processes that are started meanwhile never see Ctrl-C, which a terminal sends to all of them: this one stops
    them, without a traceback from each. Here it is only put off."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _with_job(job: Job, values: Table | None) -> tuple[Job, list[Row]]:
    return job, perform(job, values)


@contextmanager
def _connected(scheduler: str) -> Iterator[Any]:
    """A client of `dask.distributed`, which comes without types."""
    import distributed

    connect: Any = distributed.Client
    try:
        client = connect(scheduler, timeout=CONNECT_S)
    except (OSError, ValueError, TimeoutError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ExperimentUsageError(
            f"--scheduler {scheduler}: no scheduler answers ({reason}); start one with `dask scheduler`, and workers"
        ) from error
    with client:
        try:
            client.wait_for_workers(1, timeout=WORKERS_S)
        except TimeoutError as error:
            raise ExperimentUsageError(
                f"--scheduler {scheduler}: it has no worker after {WORKERS_S} s; start some with "
                f"`dask worker {scheduler}`"
            ) from error
        yield client


def _on_cluster(client: Any, scheduler: str, jobs: Sequence[Job], values: Values) -> Done:
    """The scheduler gives a dead worker's jobs to others by itself, and the points too: they are the result of a task,
    which it can repeat. (Points that were scattered would be gone.) What it gives up is sent again."""
    left = dict.fromkeys(jobs, "")
    for _ in range(ATTEMPTS):
        left = yield from _attempt(client, list(left), values)
        if not left:
            return
    job, reason = next(iter(left.items()))
    raise ExperimentError(
        f"--scheduler {scheduler}: {len(left)} jobs failed {ATTEMPTS} times, the first being {job.key} ({reason}); "
        f"see the workers' logs, and call again: finished runs are kept"
    )


def _as_it_is(values: Table) -> Table:
    return values


def _attempt(
    client: Any, jobs: Sequence[Job], values: Values
) -> Generator[tuple[Job, list[Row]], None, dict[Job, str]]:
    """Yields what is finished; returns the jobs that were not, and why."""
    import distributed

    completed: Any = distributed.as_completed
    used = {job.data for job in jobs}
    points = {
        name: own if own is None else client.submit(_as_it_is, own, pure=False)
        for name, own in values.items()
        if name in used
    }
    futures = {client.submit(perform, job, points[job.data], pure=False): job for job in jobs}
    failed: dict[Job, str] = {}
    for future in completed(futures):
        if future.status == "finished":
            yield futures[future], future.result()
        else:
            failed[futures[future]] = _reason(future)
    return failed


def _reason(future: Any) -> str:
    error = future.exception() if future.status == "error" else None
    if error is None:
        return str(future.status)
    return f"{type(error).__name__}: {error}".splitlines()[0]
