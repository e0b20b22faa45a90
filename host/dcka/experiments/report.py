"""The report that a person reads: report.md, with the pictures beside it."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dcka.config.state import write_whole
from dcka.experiments import pictures, prose, prose_theory, summary, tables
from dcka.experiments.exp1 import sample
from dcka.experiments.settings import Settings
from dcka.experiments.table import NAMES, sentence
from dcka.experiments.work import Row

Record = Mapping[str, Any]
FILE = "report.md"


def write_exp1(settings: Settings, record: Record, rows: Sequence[Row]) -> Path:
    """report.md and the pictures of experiment 1; returns the report's path."""
    out, net = settings.out, sample(settings.seed)
    hundred = min(100, settings.runs)
    parts = [
        "# Experiment 1: nine Gaussians, five nodes\n",
        summary.exp1(record),
        prose.equality(record["equality"]),
        _picture(
            pictures.centres(net, dict(record), out),
            "the readings, the means of the Gaussians, DCKA's centres",
        ),
        prose.consensus(record["consensus"]),
        _picture(pictures.mass(dict(record), out), "the mass of cluster 1 at every node, slot by slot"),
        prose.curves(record["curves"]),
        _picture(pictures.curves(dict(record), out), "SSD against the iteration, for several K"),
        "## 4. Monte Carlo\n",
        prose.MONTE_CARLO_1,
        prose.reading(record["monte_carlo"]),
        tables.monte_carlo(record["monte_carlo"]),
        _picture(
            pictures.differences(dict(record), "gaussians", out), "DCKA's mean and spread against CKA's"
        ),
        _picture(pictures.spreads(rows, "gaussians", None, out), "the SSD of every run"),
        "### What holds, in words\n",
        _claims(record["claims"]),
        f"### The paper's {hundred} runs\n\nThe first {hundred} of the first sample: what one such experiment sees.\n",
        tables.monte_carlo(record["paper_100"]),
        prose.dkm(record["dkm"]),
        prose_theory.theory(record["theory"]),
        _picture(pictures.bound(dict(record), out), "the error bound beside the error"),
        prose.again(record),
    ]
    return _write(out, parts)


def write_exp2(settings: Settings, record: Record, rows: Sequence[Row]) -> Path:
    """report.md and the pictures of experiment 2; returns the report's path."""
    parts = [
        "# Experiment 2: the Birch sets, twenty nodes\n",
        summary.exp2(record),
        prose.shortcut(record["full_simulation"]),
        "## Monte Carlo\n",
        prose.MONTE_CARLO_2,
        prose.reading(record["monte_carlo"]),
    ]
    for name in record["sets"]:
        lines = [line for line in record["monte_carlo"] if line["data"] == name]
        best = record["best_known"][name]
        parts += [
            f"## {NAMES[name]}\n",
            f"The least SSE known at K = 100 is {best:.7g}.\n",
            tables.monte_carlo(lines),
            _picture(pictures.differences(dict(record), name, settings.out), f"{name}: DCKA against CKA"),
            _picture(pictures.spreads(rows, name, best, settings.out), f"{name}: the SSD of every run"),
            _claims([claim for claim in record["claims"] if claim["data"] == name]),
        ]
    parts += [prose.best_known(record), prose.again(record)]
    return _write(settings.out, parts)


def short(record: Record) -> dict[str, Any]:
    """The record for `--json`: without what is only drawn."""
    found = {
        name: value for name, value in record.items() if name not in ("curves", "theory", "consensus", "dkm")
    }
    if "consensus" in record:
        found["consensus"] = {name: value for name, value in record["consensus"].items() if name != "mass"}
        found["curves_same"] = {k: own["same"] for k, own in record["curves"].items()}
        found["dkm"] = {name: value for name, value in record["dkm"].items() if name != "rows"}
        bound = {
            name: value for name, value in record["theory"]["bound"].items() if not isinstance(value, list)
        }
        found["theory"] = {**record["theory"], "bound": bound}
    return found


def words(record: Record, file: Path) -> str:
    """The outcome for a terminal."""
    lines = []
    if "dcka_equals_cka" in record:
        same = "equals" if record["dcka_equals_cka"] else "DIFFERS FROM"
        lines += [
            f"DCKA {same} CKA from the same first step: SSD {record['equality']['ssd_dcka']:.6g}",
            f"consensus per period: {record['consensus_rate_measured']:.6f} measured, "
            f"{record['consensus_rate_predicted']:.6f} predicted",
        ]
    lines += [sentence(claim) for claim in record["claims"]]
    if record.get("below_best_known"):
        lines.append("FAIL: an SSD below the best known; see below_best_known in results.json")
    if not all(own["same"] for own in record.get("full_simulation", {}).values()):
        lines.append("FAIL: the simulation of both clocks differs; see full_simulation in results.json")
    return "\n".join([*lines, f"report: {file}"])


def _write(folder: Path, parts: Iterable[str]) -> Path:
    write_whole(folder / FILE, "\n".join(parts).encode())
    return folder / FILE


def _picture(name: str, words: str) -> str:
    return f"![{words}]({name}.svg)\n"


def _claims(claims: Sequence[Record]) -> str:
    return "".join(f"- {sentence(dict(claim))}\n" for claim in claims)
