"""What a demonstration came to: a record for programs, sentences for people."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from dcka.check import Verdict
from dcka.demo.scenario import Settings
from dcka.emulation.air import Counts
from dcka.emulation.network import NodeFailure
from dcka.inject.dataset import Dataset
from dcka.runs.outcome import Outcome
from dcka.runs.summary import charge

NAMES = {"gossip": "gossip (the paper's)", "tree": "tree (exact)"}

_COSTS = (
    "broadcasts", "payload_bytes", "wall_s", "heap_bytes", "worst_node", "worst_node_mah", "board_times", "ledger",
)  # fmt: skip
_EXACT = (
    "bit_identical",
    "missing",
    "replay_identical",
    "ssd",
    "reference_ssd",
    "float_ssd_rel_diff",
    "outer_steps",
)
_GOSSIP = (
    "max_error", "tolerance", "ssd", "cka_ssd", "ssd_rel_diff", "float_ssd_rel_diff", "outer_steps", "slots",
    "matches_reference",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Act:
    """One run, its verdict, and its numbers (`dcka.runs.summary`).

    `faults`: what the radio did, where it had any. `left_out`: a sentence for what was to happen and did not.
    """

    outcome: Outcome
    verdict: Verdict
    summary: dict[str, Any]
    faults: Counts | None = None
    left_out: str = ""

    @property
    def word(self) -> str:
        """The verdict's; FAIL where this is not the run that was asked for."""
        return "FAIL" if self.left_out else self.verdict.word

    @property
    def reasons(self) -> list[str]:
        """The verdict's, and what was left out."""
        return [self.left_out, *self.verdict.reasons] if self.left_out else self.verdict.reasons

    def figures(self, names: tuple[str, ...]) -> dict[str, object]:
        """The verdict's figures of these names, None for what it has not come to, and the costs of the run."""
        figures = {name: self.verdict.figures.get(name) for name in names}
        return {**figures, **{name: self.summary[name] for name in _COSTS}}


@dataclass(frozen=True, eq=False)
class Report:
    """`acts`: by schedule. `crashed`: nodes that ended unasked. `dataset`: what the nodes clustered. `levels`: by
    column, levels of the grid to a standard deviation of the readings, the spike left out. `total_s`: from the call to
    the verdict.
    """

    settings: Settings
    nodes: int
    k: int
    init: str
    seed: int
    acts: dict[str, Act] = field(default_factory=dict)
    crashed: tuple[NodeFailure, ...] = ()
    picture: Path | None = None
    dataset: Dataset | None = None
    levels: dict[str, float] = field(default_factory=dict)
    total_s: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether all runs were made, and passed."""
        return not self.crashed and all(
            kind in self.acts and self.acts[kind].word == "PASS" for kind in self.settings.schedules
        )

    @property
    def word(self) -> str:
        """PASS; PARTIAL where nodes were missing and all else is as it has to be; or FAIL."""
        if self.passed:
            return "PASS"
        words = {act.word for act in self.acts.values()}
        whole = not self.crashed and all(kind in self.acts for kind in self.settings.schedules)
        return "PARTIAL" if whole and words <= {"PASS", "PARTIAL"} else "FAIL"

    def record(self) -> dict[str, object]:
        """Everything as one object: the exact run's figures at the top, those of the paper's under `gossip`.

        `ssd`, errors and tolerance are in the user's units; what a run has not come to is None.
        """
        exact = self.acts.get("tree")
        gossip = self.acts.get("gossip")
        return {
            "verdict": self.word,
            "data": self.settings.scenario.name,
            "runtime": self.settings.runtime,
            "broker": self.settings.url or self.settings.engine,
            "nodes": self.nodes,
            "k": self.k,
            "init": self.init,
            "seed": self.seed,
            **(exact.figures(_EXACT) if exact else dict.fromkeys((*_EXACT, *_COSTS))),
            **(
                {"awake_share": exact.summary["awake_share"]}
                if exact and "awake_share" in exact.summary
                else {}
            ),
            "total_s": self.total_s,
            "centres": exact.summary["centres"] if exact else None,
            "reasons": self.reasons(),
            "range": self.settings.data.get("range", "host"),
            "scale": self.settings.data.get("scale", "one"),
            "spike": self.settings.spike,
            "clipped": None if self.dataset is None else list(self.dataset.clipped),
            "levels_per_deviation": self.levels or None,
            "gossip": {"verdict": gossip.word, **gossip.figures(_GOSSIP)} if gossip else None,
            "faults": {kind: asdict(act.faults) for kind, act in self.acts.items() if act.faults} or None,
            "picture": self.picture,
        }

    def reasons(self) -> list[str]:
        """Why: a sentence for each crash, and each run's reasons, with its name in front."""
        said = [failure.sentence for failure in self.crashed]
        for kind in self.settings.schedules:
            if kind in self.acts:
                said += [f"{NAMES[kind]}: {reason}" for reason in self.acts[kind].reasons]
            elif not self.crashed:
                said.append(f"{NAMES[kind]}: was not run")
        return said

    def _resolution(self) -> str:
        """What the range has come to: how fine the grid is for the readings but for the spike, and what was clipped."""
        clipped = 0 if self.dataset is None else sum(self.dataset.clipped)
        fine = ", ".join(f"{name} {levels:,.0f}" for name, levels in self.levels.items())
        return f"levels of the grid to a standard deviation (without a spike): {fine}; {clipped:,} numbers clipped"

    def text(self) -> str:
        """The verdict, and the reasons below it, grouped by run."""
        lines = [self.word, *(f"  {failure.sentence}" for failure in self.crashed)]
        for kind, act in self.acts.items():
            lines += [f"  {NAMES[kind]}", *(f"    {reason}" for reason in act.reasons)]
            if act.faults is not None:
                lines.append(f"    the radio: {act.faults}")
            if act.summary["worst_node"] is not None:
                lines.append(f"    {charge(act.summary)}")
        if self.settings.spike or self.settings.data:
            lines.append(f"  {self._resolution()}")
        if self.picture is not None:
            lines.append(f"  picture: {self.picture}")
        return "\n".join(lines)
