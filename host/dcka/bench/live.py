"""A network of emulated nodes for a benchmark: given its readings, run, and each run compared with the reference."""

import contextlib
import resource
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dcka.bench.errors import BenchError
from dcka.broker import BrokerUrl
from dcka.check import Verdict, check
from dcka.check.partial import replay
from dcka.check.subject import bring_together
from dcka.check.verdict import Findings
from dcka.config import Config, from_mapping
from dcka.datasets import gaussians
from dcka.emulation.cpython import CPythonNetwork
from dcka.emulation.micropython import MicroPythonNetwork
from dcka.inject.dataset import Dataset, from_values
from dcka.inject.transfer import send
from dcka.mqtt import Connection
from dcka.mqtt.inbox import Inbox
from dcka.mqtt.readiness import await_online
from dcka.reference import tree_run
from dcka.runs.controller import OnEvent, run
from dcka.runs.outcome import Outcome, OutcomeError, decode_commit
from dcka.runs.plan import RunPlan, plan
from dcka_core.messages import FINAL

Nodes = CPythonNetwork | MicroPythonNetwork
Say = Callable[[str], None]

DATA_SEED = 1
GRAPH_SEED = 2
"""With it the random graphs of 20, 200, 500 and 1,000 nodes are connected."""
NODE_S = 0.1
"""For what each node may take until it is online, or has its readings: some hundred times what it needs."""


@dataclass(frozen=True, eq=False)
class Work:
    """A network and its readings."""

    config: Config
    dataset: Dataset

    def plan(self, number: int, patience_ms: int | None = None) -> RunPlan:
        """Run `number`, of whatever size its messages are."""
        sizes = dict.fromkeys(self.config.ids, 1 << 20)
        config = self.config.replaced("run", patience_ms=patience_ms)
        return plan(config, self.dataset.record(), number, max_message=sizes)


def spread(
    nodes: int,
    k: int = 9,
    readings: int = 900,
    *,
    run: Mapping[str, object] | None = None,
    topology: Mapping[str, object] | None = None,
    name: str = "bench",
) -> Work:
    """Experiment 1's nine Gaussians, `readings` (a multiple of nine) in all, dealt to the nodes in turn.

    A name of its own for each network, so that one broker can have several.
    """
    every = gaussians(DATA_SEED, 1, readings // 9).every
    dealt = {node: every[node - 1 :: nodes] for node in range(1, nodes + 1)}
    dataset = from_values("gaussians", ("x", "y"), dealt)
    return work_on(dataset, k, run or {}, topology or {"kind": "random", "seed": GRAPH_SEED}, name)


def work_on(
    dataset: Dataset, k: int, run: Mapping[str, object], topology: Mapping[str, object], name: str = "bench"
) -> Work:
    """A network of the data set's nodes."""
    sections: dict[str, dict[str, object]] = {
        "network": {"name": f"{name}-{secrets.token_hex(4)}", "nodes": list(dataset.node_ids)},
        "run": {"k": k, "init": "shared", **run},
        "topology": dict(topology),
    }
    return Work(from_mapping(sections, "the benchmark"), dataset)


@dataclass(frozen=True, eq=False)
class Ran:
    """A run that has ended, one way or another. `wrong`: nodes whose final result is not what those who took part come
    to; `missing`: whose readings were not in every step."""

    outcome: Outcome
    verdict: Verdict
    wrong: int
    missing: tuple[int, ...]

    @property
    def identical(self) -> bool:
        """Whether all nodes ended with the reference's bits, and nobody was ever missing."""
        return self.outcome.finished and self.verdict.figures.get("bit_identical") is True


class Live:
    """A network that is up: `nodes` and our `connection` to their broker."""

    def __init__(self, work: Work, nodes: Nodes, connection: Connection) -> None:
        self.work = work
        self.nodes = nodes
        self.connection = connection
        self.number = 0

    def give(self) -> None:
        """Wait for all nodes, and give them their readings. Raises NotReady, TransferError."""
        ids = self.work.config.ids
        patient = 10 + NODE_S * len(ids)
        self.connection.subscribe("status/+")
        await_online(Inbox(self.connection, {}), ids, patient)
        send(self.connection, self.work.dataset, ready_s=patient)

    def run(
        self,
        limit_s: float = 120.0,
        on_event: OnEvent | None = None,
        ready_s: float = 20.0,
        patience_ms: int | None = None,
    ) -> Ran:
        """The next run. Raises NotReady where nodes are not there within `ready_s`."""
        self.number += 1
        made = self.work.plan(self.number, patience_ms)
        return judged(
            run(self.connection, made, limit_s=limit_s, ready_s=ready_s, on_event=on_event), self.work.dataset
        )

    def lost(self) -> int:
        """Nodes that have crashed."""
        return len(self.nodes.failures())


def judged(outcome: Outcome, dataset: Dataset) -> Ran:
    """The outcome beside the reference."""
    verdict = check(outcome, dataset)
    wrong = 0 if verdict.word in ("PASS", "PARTIAL") else _wrong(outcome, dataset)
    return Ran(outcome, verdict, wrong, tuple(_missing(outcome)))


def _missing(outcome: Outcome) -> list[int]:
    with contextlib.suppress(OutcomeError):
        return outcome.missing
    return sorted(outcome.absent)


def _wrong(outcome: Outcome, dataset: Dataset) -> int:
    """How many nodes hold a final result that is not the reference's, or, where somebody was missing in it, not that of
    a replay with those who were there. No result is no wrong one, nor is one of which not every step was told."""
    if outcome.kind != "tree":
        return 1 if outcome.finished else 0
    finished = Outcome.from_json({**outcome.to_json(), "finished": True, "reason": ""})
    found = Findings(outcome.kind)
    subject = bring_together(finished, dataset, found)
    if subject is None:
        raise BenchError(f"run {outcome.run} cannot be compared: {found.verdict().reasons[0]}")
    whole = tree_run(**subject.start)
    wrong = 0
    for node in outcome.commits:
        try:
            commit = decode_commit(outcome, node)
        except OutcomeError:
            wrong += 1
            continue
        if commit.flags & FINAL:
            made = replay(subject, commit)[0] if commit.missing else whole
            if made is None:
                wrong += _all_told(outcome, commit.step)
            else:
                same = np.array_equal(subject.table(commit.centres), made.centres)
                wrong += not (same and commit.ssd == made.ssd)
    return wrong


def _all_told(outcome: Outcome, steps: int) -> bool:
    told = {record["step"] for records in outcome.steps.values() for record in records}
    return told >= set(range(steps))


@contextlib.contextmanager
def emulated(
    work: Work,
    nodes_at: BrokerUrl,
    host_at: BrokerUrl | None = None,
    *,
    runtime: str = "cpython",
    heap: str = "128K",
    keepalive: int = 10,
) -> Iterator[Live]:
    """The nodes of `work` at one address, the host at the same or another; not given their readings yet.

    Raises BenchError where this computer lets a process open too few files.
    """
    ids = work.config.ids
    require_files(2 * len(ids) + 100)
    largest = max(1024, work.plan(1).bound)
    nodes: Nodes
    if runtime == "micropython":
        nodes = MicroPythonNetwork(
            work.config.network.name, ids, nodes_at, heap=heap, max_message=largest, keepalive=keepalive
        )
    else:
        nodes = CPythonNetwork(
            work.config.network.name, ids, nodes_at, max_message=largest, keepalive=keepalive
        )
    with nodes, Connection(host_at or nodes_at, work.config.network.name, role="bench") as connection:
        yield Live(work, nodes, connection)


def require_files(wanted: int) -> None:
    """Let this process and its children open so many files, sockets among them. Raises BenchError."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    if hard != resource.RLIM_INFINITY and hard < wanted:
        raise BenchError(
            f"{wanted} open files are needed here, and this system allows a process {hard}: raise the limit "
            "(ulimit -Hn; LimitNOFILE of a service), or take a smaller case"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def figures_of(ran: Ran) -> dict[str, Any]:
    """`finished`, `bit_identical`, `steps` of a run, and what it failed by."""
    figures: dict[str, Any] = {
        "finished": ran.outcome.finished,
        "bit_identical": ran.identical,
        "steps": int(str(ran.verdict.figures.get("outer_steps") or 0)),
    }
    if not ran.identical:
        figures["reason"] = ran.verdict.reasons[0] if ran.verdict.reasons else ran.outcome.reason
    return figures
