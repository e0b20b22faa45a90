"""The smallest heap on which a case passes: by bisection, since nothing that a node counts tells it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dcka.bench.errors import BenchError
from dcka.bench.memory.parts import RESIDENT, run_program
from dcka.check import Verdict
from dcka.datasets import gaussians
from dcka.demo.play import play
from dcka.demo.scenario import SCENARIOS, Settings
from dcka.emulation.build import build, install
from dcka.inject.dataset import Dataset

TIMES = 3
"""A size passes where it does so as often in a row: what comes when is never the same."""

STEP_KB = 1
_LEAST_KB, _MOST_KB = 32, 512

_GAUSSIANS = SCENARIOS["gaussians"]
_LARGE = replace(_GAUSSIANS, name="large", data=lambda: gaussians(25, nodes=5, per_gaussian=556), k=20)
CASES: dict[str, tuple[Any, tuple[str, ...]]] = {
    "demo": (_GAUSSIANS, ("gossip", "tree")),
    "tree": (_GAUSSIANS, ("tree",)),
    "gossip": (_GAUSSIANS, ("gossip",)),
    "large": (_LARGE, ("gossip", "tree")),
}
"""`demo`, what `dcka demo` runs: 900 readings a node, K = 9, five nodes. `large`: 5,004 readings, K = 20."""


class _Silent:
    """A view that looks away."""

    def note(self, text: str) -> None: ...
    def begin(self, nodes: int, runtime: str) -> None: ...
    def online(self, count: int) -> None: ...
    def injected(self, readings: int, seconds: float) -> None: ...
    def held(self, dataset: Dataset) -> None: ...
    def begun(self, kind: str) -> None: ...
    def step(self, kind: str, step: int, ssd: float) -> None: ...
    def ended(self, kind: str, figures: dict[str, Any], verdict: Verdict) -> None: ...


def passes(case: str, heap_kb: int, times: int = TIMES) -> dict[str, int] | None:
    """The most live bytes at a run's end, by its kind, where a case passes on this heap `times` times; else None.

    Raises BenchError for a failure that has nothing to do with memory.
    """
    scenario, kinds = CASES[case]
    most: dict[str, int] = {}
    for _ in range(times):
        with TemporaryDirectory(prefix="dcka-memory-") as folder:
            report = play(
                Settings(scenario, heap=f"{heap_kb}K", schedules=kinds, out=Path(folder)), _Silent()
            )
        if report.crashed:
            sentences = "; ".join(failure.sentence for failure in report.crashed)
            if "heap" not in sentences:
                raise BenchError(f"{case} on {heap_kb} KB: {sentences}")
            return None
        if not report.passed:
            acts = report.acts
            became = ", ".join(f"{kind} {acts[kind].word if kind in acts else 'not made'}" for kind in kinds)
            raise BenchError(f"{case} on {heap_kb} KB ended without PASS, and no node had crashed: {became}")
        for kind, act in report.acts.items():
            most[kind] = max(most.get(kind, 0), int(act.summary["heap_bytes"]))
    return most


def smallest(fits: Callable[[int], bool], low: int = _LEAST_KB, high: int = _MOST_KB) -> int:
    """The smallest size in KB that fits, where `low` does not and `high` does. Raises BenchError where it doesn't."""
    if not fits(high):
        raise BenchError(f"it does not even pass on {high} KB")
    while high - low > STEP_KB:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


def import_needs(form: str) -> int:
    """KB that a node needs until all its resident code is loaded, compiled by itself where `form` is "py"."""
    with TemporaryDirectory(prefix="dcka-memory-") as folder:
        install(build(source=form == "py"), Path(folder))

        def loads(heap_kb: int) -> bool:
            program = f'import sys, gc; sys.path.insert(0, ""); gc.threshold(1024); import {RESIDENT}; print("loaded")'
            try:
                return "loaded" in run_program(Path(folder), program, f"{heap_kb}K")
            except BenchError as error:
                if "memory" in str(error).lower():
                    return False
                raise

        return smallest(loads, 16)
