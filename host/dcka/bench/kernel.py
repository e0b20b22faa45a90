"""How fast a K-means step is on MicroPython, and whether every kernel adds the same bits: `dcka bench kernel`."""

from collections.abc import Callable, Sequence
from typing import Any

from dcka.bench.errors import BenchUsageError
from dcka.bench.kernel_cases import ADVERSITIES, CASES, Answer, Ask, Case, checked_rounds
from dcka.bench.kernel_numpy import numpy_digest, numpy_us
from dcka.bench.kernel_stream import case_d

Say = Callable[[str], None]
Measured = dict[str, Any]

STEPS = 6
ADVERSE_AIM = 1.3
"""How much longer than the unpruned kernel a pruned one may take where pruning finds nothing."""

MORE_CASES: dict[str, Callable[[Say], Measured]] = {"D": case_d}
"""Cases that need a program of their own: what makes their record, which has `ok` in it."""


def names_of(parts: Sequence[str]) -> list[str]:
    """The cases asked for, in their order; all of them for none. Raises BenchUsageError for another word."""
    known = [*CASES, *MORE_CASES]
    for part in parts:
        if part not in known:
            raise BenchUsageError(f"there is no case {part!r}; the cases are {', '.join(known)}")
    return [name for name in known if not parts or name in parts]


def in_memory(parts: Sequence[str]) -> list[str]:
    """Of the cases asked for, or of all, those that can be measured anywhere, on a board too.

    Raises BenchUsageError where another is asked for by name.
    """
    for part in parts:
        if part in MORE_CASES:
            raise BenchUsageError(
                f"case {part} is measured on this computer alone: dcka bench kernel --case {part}"
            )
    return [name for name in names_of(parts) if name in CASES]


def kernel(parts: Sequence[str], rounds: int, ask: Ask, say: Say, with_numpy: bool = True) -> Measured:
    """The record of these cases: `cases`, by name, and `ok`, whether all that was measured is what was promised of
    it (the bits, no allocation, the adversities; of the ratios, `met` tells in each case).

    rounds: how often all take turns. with_numpy: also time numpy, on this computer. A case that the heap is too small
    for has `error` alone.
    """
    checked_rounds(rounds)
    names = names_of(parts)
    asked = [name for name in names if name in CASES]
    expressions = [
        CASES[name].expression(rounds, STEPS, kind) for name in asked for kind in (None, *ADVERSITIES)
    ]
    answers = iter(ask(expressions))
    cases: dict[str, Measured] = {}
    for name in asked:
        whole = next(answers)
        adverse = {kind: next(answers) for kind in ADVERSITIES}
        cases[name] = _record(CASES[name], whole, adverse)
        say(f"case {name} is measured")
        if with_numpy and "error" not in cases[name]:
            us = numpy_us(name, rounds, STEPS)
            cases[name] |= {"numpy_us": us, "numpy_mdd_per_s": _mdd(CASES[name], us)}
    for name in names:
        if name in MORE_CASES:
            say(f"case {name}")
            cases[name] = MORE_CASES[name](say)
    return {
        "cases": cases,
        "steps": STEPS,
        "rounds": rounds,
        "ok": all(_holds(case) for case in cases.values()),
    }


def _record(case: Case, whole: Answer, adverse: dict[str, Answer]) -> Measured:
    """One case as JSON. Ratios are of the kernel that the node chooses, the preparation of its centres included.

    Times and ratios are of each step's best round: on a busy machine what takes long is interrupted more often, so that
    medians flatter the kernel. `median` has them.
    """
    about = {"points": case.points, "n": case.n, "k": case.k}
    if isinstance(whole, str):
        return about | {"error": whole}
    rows = whole["kernels"]
    fast = {name: row for name, row in rows.items() if "bit_identical" in row}
    chosen = rows[whole["chosen"]]
    same = whole["digest"] == numpy_digest(case, STEPS) and all(row["bit_identical"] for row in fast.values())
    against = {kind: _against(answer) for kind, answer in adverse.items()}
    measured = [row for row in against.values() if "error" not in row]
    return about | {
        "chosen": whole["chosen"],
        "us": chosen["best_us"],
        "ratio_vs_naive": 1 / chosen["best_ratio"],
        "ratio_vs_bytecode": rows["bytecode"]["best_ratio"] / chosen["best_ratio"],
        "alloc_bytes": max(row["alloc_bytes"] for row in fast.values()),
        "bit_identical": same and all(row["bit_identical"] for row in measured),
        "mdd_per_s": _mdd(case, chosen["best_us"]),
        "median": {
            "us": chosen["us"],
            "ratio_vs_naive": 1 / chosen["ratio"],
            "ratio_vs_bytecode": rows["bytecode"]["ratio"] / chosen["ratio"],
        },
        "naive_us": rows["naive"]["best_us"],
        "bytecode_us": rows["bytecode"]["best_us"],
        "node_us": rows["node"]["best_us"],
        "node_ratio_vs_naive": 1 / rows["node"]["best_ratio"],
        "kernels": {
            name: {"us": row["best_us"], "ratio_vs_naive": 1 / row["best_ratio"]}
            for name, row in fast.items()
        },
        "adversarial": against,
        "adversarial_worst": max((row["worst"] for row in measured), default=None),
        "aim": case.aim,
        "met": case.aim * chosen["best_ratio"] <= 1,
    }


def _against(answer: Answer) -> Measured:
    """How long each pruned kernel takes, as a multiple of the unpruned one; `median`: the medians' multiples."""
    if isinstance(answer, str):
        return {"error": answer}
    pruned = {name: row for name, row in answer.items() if not name.endswith(" plain")}
    return {
        "ratios": {name: row["best_ratio"] for name, row in pruned.items()},
        "median": {name: row["ratio"] for name, row in pruned.items()},
        "worst": max(row["best_ratio"] for row in pruned.values()),
        "bit_identical": all(row["bit_identical"] for row in answer.values()),
    }


def _mdd(case: Case, us: float) -> float:
    """Million distance-dimensions a second: those of a search of all centres, whatever was pruned."""
    return case.points * case.k * case.n / us


def _holds(case: Measured) -> bool:
    if "adversarial_worst" not in case:
        return bool(case.get("ok"))
    worst = case["adversarial_worst"]
    return bool(
        case["bit_identical"]
        and case["alloc_bytes"] == 0
        and case["met"]
        and (worst is None or worst <= ADVERSE_AIM)
    )
