"""Runs here, on several processors and on a Dask cluster; kept, and gone on with."""

import json
import socket
import subprocess
import sys
import time

import numpy as np
import pytest

from dcka.experiments import pool as pool_module
from dcka.experiments.errors import ExperimentError, ExperimentUsageError
from dcka.experiments.pool import perform_all, workers
from dcka.experiments.store import Store
from dcka.experiments.work import Job, jobs_of, perform
from dcka.processes import ProcessGroup

METHODS = ("cka", "local")


def plain(rows):
    """Rows without what a clock says."""
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


@pytest.fixture
def values():
    return np.random.default_rng(3).integers(0, 10_000, (600, 2)).astype(float)


@pytest.fixture
def jobs():
    return jobs_of("some", 1, (3, 4), 6, 2, 4, METHODS, 9)


def test_jobs_are_all_runs_once(jobs):
    runs = [(job.k, run) for job in jobs for run in range(job.first, job.first + job.count)]
    assert sorted(runs) == [(k, run) for k in (3, 4) for run in range(6)]
    assert len({job.key for job in jobs}) == len(jobs) == 6
    assert [job.count for job in jobs_of("some", 2, (3,), 5, 2, 4, METHODS, 9)] == [2, 2, 1, 2, 2, 1]


def test_rows_say_what_was_run(jobs, values):
    rows = perform(jobs[0], values)
    assert [(row["run"], row["method"]) for row in rows] == [
        (0, "cka"),
        (0, "local"),
        (1, "cka"),
        (1, "local"),
    ]
    assert all(row["converged"] and row["ssd"] > 0 and row["k"] == 3 for row in rows)
    assert plain(perform(jobs[0], values.copy())) == plain(rows)


def test_what_is_finished_is_not_done_again(jobs, values, tmp_path, monkeypatch):
    store, told = Store(tmp_path), []
    done = []

    def perform_some(job, own):
        if len(done) == 4:
            raise KeyboardInterrupt
        done.append(job)
        return perform(job, own)

    monkeypatch.setattr(pool_module, "perform", perform_some)
    with pytest.raises(KeyboardInterrupt):
        perform_all(jobs, {"some": values}, store, lambda *_: None)
    (tmp_path / "jobs" / f"{jobs[0].key}.json").write_text("{ cut", "utf-8")
    monkeypatch.setattr(pool_module, "perform", lambda job, own: done.append(job) or perform(job, own))
    del done[:]
    rows = perform_all(jobs, {"some": values}, store, lambda *at: told.append(at))
    assert done == [jobs[0], *jobs[4:]]  # the damaged one, and those that were not begun
    assert told[0] == (3, 6) and told[-1] == (6, 6)
    assert plain(rows) == [row for job in jobs for row in plain(perform(job, values))]


def test_a_job_of_another_kind_is_not_taken_for_it(jobs, values, tmp_path):
    store = Store(tmp_path)
    store.keep(jobs[0], perform(jobs[0], values))
    assert store.kept(jobs[0]) is not None
    assert store.kept(Job(**{**jobs[0].record(), "seed": 10})) is None


PROGRAM = """
import json, sys
from pathlib import Path
from dcka.experiments.pool import perform_all, workers
from dcka.experiments.store import Store
from dcka.experiments.work import jobs_of
jobs = jobs_of("gaussians", 1, (3, 4), 6, 2, 4, ("cka", "local"), 9)
with workers(2) as by:
    rows = perform_all(jobs, {"gaussians": None}, Store(Path(sys.argv[1])), lambda *_: None, by)
print(json.dumps(rows))
"""


@pytest.mark.slow
def test_several_processes_find_the_same(tmp_path):
    """In a program of its own, since joblib's resource tracker lives as long as the program that uses it."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, tmp_path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    jobs = jobs_of("gaussians", 1, (3, 4), 6, 2, 4, METHODS, 9)
    assert plain(json.loads(done.stdout)) == [row for job in jobs for row in plain(perform(job))]


@pytest.fixture
def cluster(tmp_path):
    """A Dask scheduler on loopback and two workers, each a process: (address, the workers)."""
    with ProcessGroup() as group:
        dask = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
        address_file = tmp_path / "scheduler.json"
        options = [
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            str(address_file),
        ]
        scheduler = group.start([*dask, *options], name="scheduler")
        deadline = time.monotonic() + 30
        while not (address_file.exists() and address_file.read_text("utf-8").strip()):
            assert scheduler.poll() is None and time.monotonic() < deadline, scheduler.lines()
            time.sleep(0.05)
        address = json.loads(address_file.read_text("utf-8"))["address"]
        worker = [
            sys.executable,
            "-m",
            "distributed.cli.dask_worker",
            address,
            "--no-nanny",
            "--nthreads",
            "1",
        ]
        quiet = ["--no-dashboard", "--local-directory", str(tmp_path)]
        yield address, [group.start([*worker, *quiet], name=f"worker {i}") for i in (1, 2)]


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.filterwarnings("ignore")  # distributed's own
def test_a_worker_dies_and_nothing_is_lost(cluster, values, tmp_path):
    address, started = cluster
    jobs = jobs_of("some", 1, (3, 4, 5), 120, 4, 4, METHODS, 9)
    killed = []

    def progress(done, _):
        if done >= 5 and not killed:
            killed.append(started[0].kill())

    with workers(scheduler=address) as by:
        rows = perform_all(jobs, {"some": values}, Store(tmp_path / "out"), progress, by)
    assert killed and started[1].poll() is None
    assert plain(rows) == [row for job in jobs for row in plain(perform(job, values))]
    assert len(list((tmp_path / "out" / "jobs").glob("some-*.json"))) == len(jobs)


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.filterwarnings("ignore")
def test_a_job_that_fails_on_the_cluster_is_named(cluster, values, tmp_path):
    jobs = jobs_of("some", 1, (900,), 1, 1, 4, METHODS, 9)  # more clusters than points
    words = (
        "1 jobs failed 3 times, the first being some-draw0-k900-runs0-0 .ValueError: Node 1 holds 150 points"
    )
    with pytest.raises(ExperimentError, match=words), workers(scheduler=cluster[0]) as by:
        perform_all(jobs, {"some": values}, Store(tmp_path / "out"), lambda *_: None, by)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_no_scheduler_is_one_sentence(monkeypatch):
    monkeypatch.setattr(pool_module, "CONNECT_S", 1)
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{nobody.getsockname()[1]}"
        for wrong in (address, "not an address"):
            words = f"--scheduler {wrong}: no scheduler answers"
            with pytest.raises(ExperimentUsageError, match=words) as caught, workers(scheduler=wrong):
                pass
            assert "\n" not in str(caught.value)


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.filterwarnings("ignore")
def test_a_cluster_without_workers_is_not_waited_for_without_end(cluster, monkeypatch):
    address, started = cluster
    for worker in started:
        worker.kill()
    monkeypatch.setattr(pool_module, "WORKERS_S", 1)
    deadline = time.monotonic() + 60
    while True:  # until the scheduler has noticed that they are gone
        try:
            with workers(scheduler=address):
                assert time.monotonic() < deadline
        except ExperimentUsageError as error:
            assert str(error).startswith(
                f"--scheduler {address}: it has no worker after 1 s; start some with"
            )
            return


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"processes": 0}, "--jobs 0: from 1 to 8, this computer having 2 processors"),
        ({"processes": 9}, "--jobs 9: from 1 to 8"),
        (
            {"processes": 2, "scheduler": "tcp://127.0.0.1:1"},
            "--jobs 2 is for this computer and --scheduler for a",
        ),
    ],
)
def test_more_processes_than_a_computer_carries_are_refused(monkeypatch, given, words):
    monkeypatch.setattr(pool_module.os, "cpu_count", lambda: 2)
    with pytest.raises(ExperimentUsageError, match=words), workers(**given):
        pass


def test_one_process_and_most_are_taken(monkeypatch):
    monkeypatch.setattr(pool_module.os, "cpu_count", lambda: 2)
    for processes in (1, 8):
        with workers(processes):  # none is started before there is a job
            pass


def test_a_manifest_names_the_versions_of_kept_runs(tmp_path, monkeypatch):
    def begun(version):
        monkeypatch.setattr("dcka.experiments.store.versions", lambda: {"numpy": version})
        return Store(tmp_path).begin({"seed": 1}, ["dcka"], {"some": "00"})

    assert begun("1") == [] and begun("1") == []
    assert begun("2") == [{"numpy": "1"}]
    assert begun("2") == [{"numpy": "1"}] and begun("3") == [{"numpy": "2"}, {"numpy": "1"}]
    manifest = json.loads((tmp_path / "manifest.json").read_bytes())
    assert manifest["versions"] == {"numpy": "3"} and len(manifest["earlier_versions"]) == 2
    assert manifest["data_sha256"] == {"some": "00"}
