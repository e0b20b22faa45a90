"""A survey: what the core's nodes agree on and make of their readings, against the reference, bit for bit."""

import json
from typing import Any, NamedTuple

import numpy as np
import pytest
from agreement_data import graphs, laws
from bus import Bus, make_readings
from core_network import PREFIX
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dcka.reference import SurveyRun, bits_for, survey_run
from dcka.topology import Graph, Shape, named, schedule
from dcka_core.actions import SAVE
from dcka_core.messages import FINAL, Commit, read_commit
from dcka_core.record import Run, read_run
from dcka_core.session import COMMIT_FILE
from dcka_core.survey_grid import grid_of
from dcka_core.survey_state import SIGMA_ROW, ends, numbers

READINGS = bytes(range(8, 16))
LOWEST, HIGHEST = -(2**31), 2**31 - 1


class Survey(NamedTuple):
    """Readings (m_i, n) by node, and what the run record says."""

    graph: Graph
    readings: dict[int, NDArray[np.int64]]
    bins: int
    tail_ppm: int
    scale: str

    @property
    def n(self) -> int:
        return next(iter(self.readings.values())).shape[1]


class Outcome(NamedTuple):
    """`commits`: the steps of the chain that ended it, in order. `bus`: the network as it was left."""

    run: Run
    bus: Bus
    commits: list[Commit]


def readings() -> st.SearchStrategy[int]:
    """Small ones, both ends of 32 bits, anything between: ties, outliers and spreads of every size."""
    return st.one_of(st.integers(-6, 6), st.sampled_from([LOWEST, HIGHEST]), st.integers(LOWEST, HIGHEST))


@st.composite
def surveys(draw: Any, most: int = 6) -> Survey:
    graph = draw(graphs(most))
    n = draw(st.sampled_from([1, 2, 3, 9]))
    row = st.lists(readings(), min_size=n, max_size=n)
    return Survey(
        graph,
        {
            node: np.array(draw(st.lists(row, max_size=12)), dtype=np.int64).reshape(-1, n)
            for node in graph.ids
        },
        draw(st.sampled_from([2, 4, 16])),
        draw(st.sampled_from([0, 1000, 90_000, 333_333, 499_999])),
        draw(st.sampled_from(["one", "minmax", "std"])),
    )


def play(survey: Survey, loss: int = 0, seed: int = 0, silent: int = 0) -> Outcome:
    """The survey on a bus. loss: percent of the deliveries. silent: a node that is off from that many events on."""
    bus = Bus()
    for node, table in survey.readings.items():
        flat = [int(value) for value in table.ravel()]
        bus.readings[node] = (READINGS, lambda flat=flat: make_readings(survey.n, READINGS, flat))
        bus.add(node, None)
    bus.settle()
    plan = schedule(survey.graph, "tree")
    record = {
        "v": 1,
        "run": 1,
        "kind": "survey",
        "members": list(plan.members),
        "root": plan.root,
        "depth": plan.depth,
        "dataset": READINGS.hex(),
        "points": sum(map(len, survey.readings.values())),
        "n": survey.n,
        "bits": bits_for(survey.n),
        "patience_ms": 500,
        "bins": survey.bins,
        "tail_ppm": survey.tail_ppm,
        "scale": survey.scale,
    }
    bus.trace = []
    if loss:
        bus.faults(seed, loss, loss, loss, True)
    for node, row in plan.row_records(1).items():
        bus.publish(f"{PREFIX}rows/{node}", json.dumps(row), True)
    bus.settle()
    bus.publish(f"{PREFIX}run", json.dumps(record), True)
    if silent:
        for _ in range(silent):
            bus.step()
        if not bus.all_done():
            bus.kill(plan.members[-1])
    assert bus.run(bus.all_done)
    bus.settle()
    run = read_run(record)
    return Outcome(run, bus, _chain(bus, run))


def _chain(bus: Bus, run: Run) -> list[Commit]:
    """The commits behind the final that all nodes hold: of each step the one whose state leads to the next."""
    saved: dict[int, list[Commit]] = {}
    for _, action in bus.trace:
        if action[0] == SAVE and action[1] == COMMIT_FILE:
            commit = read_commit(action[2], run)
            saved.setdefault(commit.step, []).append(commit)
    finals = [node.session.held for node in bus.nodes.values()]
    assert all(final.centres == finals[0].centres and final.flags == FINAL for final in finals)
    return [saved[step][0] for step in range(1, finals[0].step)] + [finals[0]]


def assert_same(survey: Survey, outcome: Outcome, reference: SurveyRun) -> None:
    run, bus, commits = outcome
    final = commits[-1].centres
    n = survey.n
    found = ends(final, n)
    assert [commit.step for commit in commits] == list(range(1, reference.steps + 1))
    assert found[:n] == reference.low.tolist()
    assert found[n:] == reference.high.tolist()
    if reference.sigma is not None:
        assert tuple(numbers(final, n, SIGMA_ROW)) == reference.sigma
    grid = grid_of(run, final)
    assert tuple(grid.low) == reference.grid.low
    assert tuple(grid.width) == reference.grid.width
    assert tuple(grid.extents) == reference.grid.extents
    assert grid.dataset(READINGS) == reference.grid.dataset(READINGS)
    for node, machine in bus.nodes.items():
        levels, clipped = reference.grid.quantise(survey.readings[node])
        points = machine.points
        assert points.dataset == reference.grid.dataset(READINGS)
        assert (points.n, points.bits, points.count) == (n, bits_for(n), len(levels))
        held = [value for block, count in points.blocks for value in block[: count * n]]
        assert held == levels.ravel().tolist()
        assert json.loads(bus.retained[f"{PREFIX}status/{node}"])["clipped"] == clipped.tolist()


def reference_of(survey: Survey, outcome: Outcome, everybody: bool = True) -> SurveyRun:
    members = outcome.run.members
    present = [
        [index for index in range(len(members)) if commit.contributors >> index & 1]
        for commit in outcome.commits
    ]
    return survey_run(
        [survey.readings[node] for node in members],
        bits_for(survey.n),
        tail_ppm=survey.tail_ppm,
        scale=survey.scale,
        bins=survey.bins,
        present=None if everybody else present,
    )


@settings(laws, max_examples=40)
@given(surveys())
def test_the_grid_and_every_node_s_points_are_the_references(survey):
    outcome = play(survey)
    assert_same(survey, outcome, reference_of(survey, outcome))
    # Step by step or sorted: one result.
    assert_same(survey, outcome, reference_of(survey, outcome, everybody=False))


@pytest.mark.parametrize("seed", range(8))
def test_with_losses(seed):
    survey = sample(seed)
    outcome = play(survey, loss=20, seed=seed)
    everybody = not outcome.commits[-1].missing
    assert_same(survey, outcome, reference_of(survey, outcome, everybody))


def test_without_a_node_that_leaves_in_between():
    """The steps before it left are over its readings too: the reference takes each step's own."""
    partial = 0
    for events in (30, 60, 90, 120):
        survey = sample(events)
        outcome = play(survey, silent=events)
        partial += outcome.commits[-1].missing != 0 and outcome.commits[0].missing == 0
        assert_same(survey, outcome, reference_of(survey, outcome, everybody=False))
    assert partial >= 2


def sample(seed: int) -> Survey:
    """Five nodes on a ring, with readings of three sizes and a few far out."""
    draw = np.random.default_rng(seed)
    tables = {}
    for node in range(1, 6):
        table = draw.integers(-500, 500, (int(draw.integers(5, 40)), 3)) * np.array([1, 40, 9000])
        table[::11] *= 200
        tables[node] = np.clip(table, LOWEST, HIGHEST)
    scale = ("one", "minmax", "std")[seed % 3]
    return Survey(named(tables, Shape("ring")), tables, (2, 4, 16)[seed // 3 % 3], 20_000, scale)
