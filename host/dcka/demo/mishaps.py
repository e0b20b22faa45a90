"""What goes wrong on purpose in a demonstration: a node loses its power, the broker starts anew."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dcka.broker import Broker
from dcka.errors import UsageError
from dcka.runs.plan import RunPlan

ROOT = "ROOT"
MOST_AWAY_S = 60


@dataclass(frozen=True)
class Mishaps:
    """`kill_node`: an id, or ROOT. `at_step`: the outer step after which it happens. `return_after`: seconds, None for
    never. `restart_broker`: whether the broker is stopped and started, after the same step. Raises UsageError.
    """

    kill_node: str | None = None
    at_step: int = 1
    return_after: float | None = None
    restart_broker: bool = False

    def __post_init__(self) -> None:
        if self.return_after is not None and self.kill_node is None:
            raise UsageError("--return-after is the return of a node: name one with --kill-node")
        if self.return_after is not None and not 0 <= self.return_after <= MOST_AWAY_S:
            raise UsageError(
                f"--return-after is a number of seconds from 0 to {MOST_AWAY_S}, not {self.return_after:g}"
            )
        if self.at_step < 1:
            raise UsageError(f"--at-step is an outer step from 1 on, not {self.at_step}")

    def __bool__(self) -> bool:
        return self.kill_node is not None or self.restart_broker

    def victim(self, plan: RunPlan) -> int | None:
        """The id of the node that is killed in this run. Raises UsageError for one that is not in it."""
        if self.kill_node is None:
            return None
        if self.kill_node == ROOT:
            return plan.root
        if not self.kill_node.isdigit() or int(self.kill_node) not in plan.members:
            ids = ", ".join(map(str, sorted(plan.members)))
            raise UsageError(
                f"--kill-node {self.kill_node}: the nodes are {ids}, or {ROOT} for the tree's root"
            )
        return int(self.kill_node)


class Course:
    """Makes them happen, by the events of the run. `kill`, `restart`: of a node; `broker`: None for one not ours.

    A step has ended when all who tell of it have: a broker that is stopped loses what is on its way to us.
    """

    def __init__(
        self,
        mishaps: Mishaps,
        plan: RunPlan,
        kill: Callable[[int], None],
        restart: Callable[[int], None],
        broker: Broker | None,
        note: Callable[[str], None],
    ) -> None:
        self._mishaps = mishaps
        self._victim = mishaps.victim(plan)
        self._tellers = 1 if plan.root else len(plan.members)
        self._told: set[int] = set()
        self._kill = kill
        self._restart = restart
        self._broker = broker
        self._note = note
        self._back_at: float | None = None
        self._over = not mishaps

    def left_out(self, steps: int) -> str:
        """A sentence for what did not happen in a run that has ended after `steps`; "" where all has."""
        if self._over:
            return ""
        return f"nothing went wrong: the run ended after {steps} outer steps, and --at-step is {self._mishaps.at_step}"

    def take(self, event: str, data: dict[str, Any]) -> None:
        """An event of the controller."""
        if not self._over and event == "step" and data["step"] + 1 >= self._mishaps.at_step:
            self._told.add(data["node"])
            if len(self._told) >= self._tellers:
                self._over = True
                self._happen(data["step"] + 1)
        if self._back_at is not None and time.monotonic() >= self._back_at and self._victim is not None:
            self._back_at = None
            self._note(f"node {self._victim} has its power back")
            self._restart(self._victim)

    def _happen(self, step: int) -> None:
        if self._victim is not None:
            self._note(f"node {self._victim} loses its power after step {step}")
            self._kill(self._victim)
            if self._mishaps.return_after is not None:
                self._back_at = time.monotonic() + self._mishaps.return_after
        if self._mishaps.restart_broker and self._broker is not None:
            self._note(f"the broker is stopped after step {step}, and started again")
            self._broker.restart()
