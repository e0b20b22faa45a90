"""The report that a person reads: report.md, with the pictures beside it."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dcka.config.state import write_whole
from dcka.experiments import pictures, prose
from dcka.experiments.exp1 import sample
from dcka.experiments.settings import Settings
from dcka.experiments.table import sentence
from dcka.experiments.work import CKA, Row

Record = Mapping[str, Any]
FILE = "report.md"


def write_exp1(settings: Settings, record: Record, rows: Sequence[Row]) -> Path:
    """report.md and the pictures of experiment 1; returns the report's path."""
    out, net = settings.out, sample(settings.seed)
    parts = [
        "# Experiment 1: nine Gaussians, five nodes\n",
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
        _monte_carlo(record["monte_carlo"]),
        _picture(
            pictures.differences(dict(record), "gaussians", out), "DCKA's mean and spread against CKA's"
        ),
        _picture(pictures.spreads(rows, "gaussians", None, out), "the SSD of every run"),
        "### What holds\n",
        _claims(record["claims"]),
        f"The first {min(100, settings.runs)} runs of the first sample, as many as the paper's:\n",
        _monte_carlo(record["paper_100"]),
        prose.dkm(record["dkm"]),
        prose.theory(record["theory"]),
        _picture(pictures.bound(dict(record), out), "the error bound beside the error"),
        prose.again(settings.command),
    ]
    return _write(out, parts)


def write_exp2(settings: Settings, record: Record, rows: Sequence[Row]) -> Path:
    """report.md and the pictures of experiment 2; returns the report's path."""
    parts = ["# Experiment 2: the Birch sets, twenty nodes\n", prose.MONTE_CARLO_2]
    for name in record["sets"]:
        lines = [line for line in record["monte_carlo"] if line["data"] == name]
        best = record["best_known"][name]
        parts += [
            f"## {name}\n",
            f"The least SSE known at K = 100 is {best:.7g}.\n",
            _monte_carlo(lines),
            _picture(pictures.differences(dict(record), name, settings.out), f"{name}: DCKA against CKA"),
            _picture(pictures.spreads(rows, name, best, settings.out), f"{name}: the SSD of every run"),
            _claims([claim for claim in record["claims"] if claim["data"] == name]),
        ]
    parts += [prose.best_known(record), prose.again(settings.command)]
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
    return "\n".join([*lines, f"report: {file}"])


def _write(folder: Path, parts: Iterable[str]) -> Path:
    write_whole(folder / FILE, "\n".join(parts).encode())
    return folder / FILE


def _picture(name: str, words: str) -> str:
    return f"![{words}]({name}.svg)\n"


def _claims(claims: Sequence[Record]) -> str:
    return "".join(f"- {sentence(dict(claim))}\n" for claim in claims)


def _monte_carlo(lines: Sequence[Record]) -> str:
    """A table: numbers of the first sample; differences and ratios with their 95 % intervals over all samples."""
    rows = [
        "| K | method | runs | min | mean | std | empty | mean − CKA's [95 %] | spread / CKA's [95 %] | minimum |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for line in lines:
        against = line.get("against_cka")
        name = "CKA" if line["method"] == CKA else f"`{line['method']}`"
        compared = "| | |"
        if against is not None:
            difference = f"{against['difference']:+.4g} {_interval(against['difference_interval'], '.3g')}"
            ratio = "–" if against["spread_ratio"] is None else f"{against['spread_ratio']:.2f}"
            compared = f"{difference} | {ratio} {_interval(against['spread_interval'], '.2f')} | {against['minimum']}"
        rows.append(
            f"| {line['k']} | {name} | {line['runs']} | {line['min']:.7g} | {line['mean']:.6g} | {line['std']:.3g} "
            f"| {line['empty']:.1f} | {compared} |"
        )
    return "\n".join(rows) + "\n"


def _interval(ends: Sequence[float | None], form: str) -> str:
    return "" if ends[0] is None or ends[1] is None else f"[{ends[0]:{form}}, {ends[1]:{form}}]"
