"""Experiment 1: nine Gaussians on five nodes, all five results, and the theory."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from dcka.datasets import gaussians
from dcka.experiments import consensus, dkm, theory
from dcka.experiments.network import Network, network
from dcka.experiments.pool import Progress, perform_all, workers
from dcka.experiments.settings import Settings
from dcka.experiments.store import Store
from dcka.experiments.table import claims, table
from dcka.experiments.work import CKA, Row, checksum, jobs_of, run_seed

KS = (3, 5, 7, 9, 11, 13, 15)
RUNS, DRAWS, SEED = 300, 3, 25
NODES, PER_NODE = 5, 900
K = 9
CURVE_KS = (5, 9, 13)
DKM_STARTS = 20
RUNS_A_JOB = 25

Record = dict[str, Any]
Say = Callable[[str], None]


def exp1(settings: Settings, say: Say, progress: Progress) -> tuple[Record, list[Row]]:
    """Run it; the record of all results. Pictures and report are `report.write`'s.

    Raises ExperimentUsageError for settings or a folder that do not fit, and as `pool.perform_all`.
    """
    settings.check(PER_NODE)
    with workers(settings.jobs, settings.scheduler) as by:
        store = Store(settings.out)
        samples = {f"gaussians-draw{draw}": checksum(settings.seed + draw) for draw in range(settings.draws)}
        call = settings.call("exp1", "--draws", str(settings.draws))
        earlier = store.begin(_identity(settings), call, samples)
        record: Record = {
            "experiment": "exp1",
            "seed": settings.seed,
            "command": call,
            "earlier_versions": earlier,
        }
        say("result 4: Monte Carlo")
        methods = (CKA, *settings.starts)
        jobs = jobs_of(
            "gaussians", settings.draws, settings.ks, settings.runs, RUNS_A_JOB, NODES, methods, settings.seed
        )
        rows = perform_all(jobs, {"gaussians": None}, store, progress, by)
    store.write_rows("runs.csv", rows)
    record["monte_carlo"] = table(rows, settings.seed)
    record["claims"] = claims(record["monte_carlo"])
    record["paper_100"] = table([r for r in rows if r["draw"] == 0 and r["run"] < 100], settings.seed)
    net, seed = sample(settings.seed), run_seed(settings.seed, 0, 0)
    say("results 1 to 3: one run, its consensus, its course")
    record["equality"] = consensus.equality(net, K, seed)
    record["dcka_equals_cka"] = record["equality"]["dcka_equals_cka"]
    record["consensus"] = consensus.mass_course(net, K, seed)
    for name in ("consensus_rate_measured", "consensus_rate_predicted"):
        record[name] = record["consensus"][name]
    record["curves"] = consensus.curves(net, CURVE_KS, seed)
    say("result 5: DKM")
    record["dkm"] = dkm.compare(net, K, [run_seed(settings.seed, 0, run) for run in range(DKM_STARTS)])
    say("the theory")
    record["theory"] = theory.check(net, K, seed)
    store.write_json("results.json", record)
    return record, rows


def _identity(settings: Settings) -> Record:
    """What kept runs have to have in common: all but how many there are."""
    return {"experiment": "exp1", "seed": settings.seed, "methods": [CKA, *settings.starts], "format": 1}


def sample(seed: int) -> Network:
    """The first sample of the Gaussians, dealt to its nodes."""
    return network(list(gaussians(seed).values.values()))


def default_folder() -> Path:
    return Path("exp1")
