"""Jobs, done here, on several processors, or on a Dask cluster; what was finished before is not done again."""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any

from dcka.experiments.errors import ExperimentError, ExperimentUsageError
from dcka.experiments.network import Table
from dcka.experiments.store import Store
from dcka.experiments.work import Job, Row, perform

Values = Mapping[str, Table | None]
"""For each data set its points, or None where a job makes them."""
Progress = Callable[[int, int], None]

CONNECT_S = 5
ATTEMPTS = 3
"""How often a job is given to a cluster: its worker may die, and the points with it."""


def perform_all(
    jobs: Sequence[Job],
    values: Values,
    store: Store,
    progress: Progress,
    processes: int = 1,
    scheduler: str = "",
) -> list[Row]:
    """The rows of all jobs, in the jobs' order; each is kept in `store` as it is finished.

    `progress` is told (finished, all). Raises ExperimentUsageError where there is no scheduler at that address,
    ExperimentError where a job fails on the cluster in every attempt.
    """
    found = {job: rows for job in jobs if (rows := store.kept(job)) is not None}
    progress(len(found), len(jobs))
    left = [job for job in jobs if job not in found]
    if left:
        ways = _on_cluster(left, values, scheduler) if scheduler else _here(left, values, processes)
        for job, rows in ways:
            store.keep(job, rows)
            found[job] = rows
            progress(len(found), len(jobs))
    return [row for job in jobs for row in found[job]]


def _here(jobs: Sequence[Job], values: Values, processes: int) -> Iterator[tuple[Job, list[Row]]]:
    if processes == 1:
        for job in jobs:
            yield job, perform(job, values[job.data])
        return
    from joblib import Parallel, delayed
    from joblib.externals.loky import get_reusable_executor

    pool = Parallel(n_jobs=processes, return_as="generator_unordered", mmap_mode="r")
    try:
        yield from pool(delayed(_with_job)(job, values[job.data]) for job in jobs)
    finally:  # joblib would keep the processes for a next call
        get_reusable_executor().shutdown(wait=True, kill_workers=True)


def _with_job(job: Job, values: Table | None) -> tuple[Job, list[Row]]:
    return job, perform(job, values)


def _on_cluster(jobs: Sequence[Job], values: Values, scheduler: str) -> Iterator[tuple[Job, list[Row]]]:
    """By `dask.distributed`. The scheduler gives a dead worker's jobs to others by itself, and the points too: they are
    the result of a task, which it can repeat. (Points that were scattered would be gone.) What it gives up is sent
    again."""
    import distributed

    connect: Any = distributed.Client  # comes without types
    try:
        client = connect(scheduler, timeout=CONNECT_S)
    except (OSError, ValueError, TimeoutError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ExperimentUsageError(
            f"--scheduler {scheduler}: no scheduler answers ({reason}); start one with `dask scheduler`, and workers"
        ) from error
    with client:
        left = list(jobs)
        for _ in range(ATTEMPTS):
            left = yield from _attempt(client, left, values)
            if not left:
                return
    raise ExperimentError(
        f"--scheduler {scheduler}: {len(left)} jobs failed {ATTEMPTS} times, the first being {left[0].key}; "
        f"see the workers' logs, and call again: finished runs are kept"
    )


def _as_it_is(values: Table) -> Table:
    return values


def _attempt(
    client: Any, jobs: Sequence[Job], values: Values
) -> Generator[tuple[Job, list[Row]], None, list[Job]]:
    """Yields what is finished; returns the jobs that were not."""
    import distributed

    completed: Any = distributed.as_completed
    used = {job.data for job in jobs}
    points = {
        name: own if own is None else client.submit(_as_it_is, own, pure=False)
        for name, own in values.items()
        if name in used
    }
    futures = {client.submit(perform, job, points[job.data], pure=False): job for job in jobs}
    failed: list[Job] = []
    for future in completed(futures):
        if future.status == "finished":
            yield futures[future], future.result()
        else:
            failed.append(futures[future])
    return failed
