"""`play`: the demonstration from its beginning to its report."""

import contextlib
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from dcka.check import Surveyed, Verdict, check
from dcka.config import Config
from dcka.demo.material import material, resolution
from dcka.demo.mishaps import Course, Mishaps
from dcka.demo.report import NAMES, Act, Report
from dcka.demo.scenario import Settings
from dcka.demo.stage import NodeCrashed, Stage, stage
from dcka.errors import UsageError
from dcka.inject.dataset import Dataset, on_grid
from dcka.inject.readings import ReadingSet
from dcka.inject.transfer import send
from dcka.runs.agree import agree
from dcka.runs.controller import run
from dcka.runs.outcome import Outcome
from dcka.runs.plan import RunPlan, plan
from dcka.runs.plan_seeding import plan_seeding
from dcka.runs.plan_survey import plan_survey
from dcka.runs.seed import PLUS, Drawn, plan_from, revealed, seed
from dcka.runs.summary import summary
from dcka.runs.survey import survey

PICTURE = "dcka-demo.png"
LIMIT_S = 10.0  # of a run, which takes a fraction of a second
TROUBLED_LIMIT_S = (
    120.0  # of one in which things go wrong on purpose: the paper's method takes 30 s at 20 % loss
)
ANY_SIZE = 1 << 20


class View(Protocol):
    """Whom the demonstration tells how it goes. `ssd` is in the user's units."""

    def note(self, text: str) -> None:
        """Something worth knowing."""

    def begin(self, nodes: int, runtime: str) -> None:
        """Broker and nodes are being started."""

    def online(self, count: int) -> None:
        """So many nodes are online."""

    def injected(self, readings: int, seconds: float) -> None:
        """All nodes have their readings."""

    def held(self, dataset: Dataset) -> None:
        """What the nodes hold from now on, on its grid."""

    def begun(self, kind: str) -> None:
        """A run begins."""

    def step(self, kind: str, step: int, ssd: float) -> None:
        """A step has ended at every node."""

    def ended(self, kind: str, figures: dict[str, Any], verdict: Verdict) -> None:
        """A run has ended, and was checked."""


Beside = Callable[[Stage, Config], AbstractContextManager[None]]


def play(settings: Settings, view: View, beside: Beside | None = None) -> Report:
    """Bring a network up, give it its readings, run and check, draw; everything is down again on return.

    `beside`: something that is to be there while the network is, from when its nodes are online.
    A node that crashes ends it with a report that says so. Raises UsageError for choices that cannot be, before
    anything is started, and other DckaErrors for what the machine refuses.
    """
    began = time.monotonic()
    clean = settings.scenario.data()
    config = settings.config(f"demo-{secrets.token_hex(4)}", clean.node_ids)
    parcel = material(clean, config.data, settings.spike)
    plans = _plans(settings, config, parcel)
    for made in plans:
        settings.mishaps.victim(made)  # refused before anything is started
    _make_folder(settings)
    report = Report(settings, len(config.ids), config.run.k, config.run.init, config.run.seed)
    view.begin(report.nodes, settings.runtime)
    if settings.radio:
        view.note(f"the radio between the nodes {settings.radio}")
    largest = max(made.bound for made in plans)
    try:
        with contextlib.ExitStack() as stack:
            up = stack.enter_context(stage(settings, config.network.name, config.ids, largest))
            stack.enter_context(up.blaming())
            up.await_online(view.online)
            if beside is not None:
                stack.enter_context(beside(up, config))
            data = _given(up, config, parcel, view)
            view.held(data.dataset)
            report = replace(report, dataset=data.dataset, levels=resolution(data.dataset, clean))
            plans = _numbered(settings, config, data.dataset, data.next_run, data.drawn)
            for act in _acts(up, settings, data, plans, view):
                report.acts[act.outcome.kind] = act
    except NodeCrashed as crash:
        report = replace(report, crashed=crash.failures)
    if report.acts and report.dataset is not None:
        report = replace(report, picture=_draw(settings, report.dataset, report))
    return replace(report, total_s=time.monotonic() - began)


def _plans(settings: Settings, config: Config, parcel: Dataset | ReadingSet) -> list[RunPlan]:
    """The runs, numbered from 1: the network is new, so no number was used in it.

    Where the nodes have yet to agree on the grid, or to draw the start, a survey and a seeding before runs as large as
    those that follow.
    """
    parcel.check_k(config.run.k)
    before: list[RunPlan] = []
    sizes = dict.fromkeys(config.ids, ANY_SIZE)
    if not isinstance(parcel, Dataset):
        before.append(plan_survey(config, parcel.record(), 1, max_message=sizes))
        parcel = on_grid(parcel)
    if config.run.init == PLUS:
        before.append(plan_seeding(config, parcel.record(), len(before) + 1, **_options(config, parcel)))
    return [*before, *_numbered(settings, config, parcel, len(before) + 1, None)]


def _numbered(
    settings: Settings, config: Config, dataset: Dataset, first: int, drawn: Drawn | None
) -> list[RunPlan]:
    record, options = dataset.record(), _options(config, dataset)
    made = []
    for number, kind in enumerate(settings.schedules, start=first):
        if config.run.init == PLUS:
            made.append(plan_from(config, record, number, drawn, schedule=kind, **options))
        else:
            made.append(plan(config, record, number, schedule=kind, **options))
    return made


def _options(config: Config, dataset: Dataset) -> dict[str, Any]:
    return {"max_message": dict.fromkeys(config.ids, ANY_SIZE), "distinct": dataset.distinct_points()}


@dataclass(frozen=True, eq=False)
class _Given:
    """What the nodes hold; how its grid and the start came about, where these are their own; the next run's number."""

    dataset: Dataset
    surveyed: Surveyed | None
    next_run: int
    seeded: Outcome | None = None
    drawn: Drawn | None = None


def _given(up: Stage, config: Config, parcel: Dataset | ReadingSet, view: View) -> _Given:
    """Give the nodes their readings; where these are on no grid, the nodes agree on it."""
    started = time.monotonic()
    send(up.connection, parcel)
    view.injected(parcel.size, time.monotonic() - started)
    if isinstance(parcel, Dataset):
        return _with_start(up, config, _Given(parcel, None, 1), view)
    agreed = agree(up.connection, config, survey(up.connection, config.ids), 1, readings=parcel)
    for note in agreed.notes:
        view.note(note)
    if agreed.dataset is None or agreed.outcome is None:
        raise RuntimeError("a network that is new had agreed before")
    surveyed = Surveyed(agreed.outcome, parcel)
    return _with_start(up, config, _Given(agreed.dataset, surveyed, agreed.outcome.run + 1), view)


def _with_start(up: Stage, config: Config, given: _Given, view: View) -> _Given:
    """With what the nodes draw, where [run] has the start drawn; both runs go on from it."""
    if config.run.init != PLUS:
        return given
    view.note(revealed(config.run.k))
    options = _options(config, given.dataset)

    def look_after(event: str, data: dict[str, Any]) -> None:
        if event == "turn":
            up.require_alive()

    options |= {"limit_s": TROUBLED_LIMIT_S, "on_event": look_after}
    seeded = seed(up.connection, config, given.dataset.record(), given.next_run, **options)
    for note in seeded.notes:
        view.note(note)
    return replace(given, next_run=given.next_run + 1, seeded=seeded.outcome, drawn=seeded.drawn)


def _make_folder(settings: Settings) -> None:
    try:
        settings.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"--out {settings.out}: no folder can be made there ({error.strerror}); choose another"
        ) from error


def _acts(up: Stage, settings: Settings, data: _Given, plans: list[RunPlan], view: View) -> Iterator[Act]:
    """Run and check each plan."""
    dataset = data.dataset
    for made in plans:
        view.begun(made.kind)
        before = None if up.radio is None else up.radio.counts()
        follower = _Follower(up, made, dataset, view, settings.mishaps)
        limit_s = made.longer(TROUBLED_LIMIT_S if settings.troubled else LIMIT_S)
        outcome = run(up.connection, made, limit_s=limit_s, on_event=follower.take)
        if not outcome.finished:
            up.require_alive()
        counts = None if up.radio is None or before is None else up.radio.counts().since(before)
        figures = summary(outcome, made.dataset)
        act = Act(
            outcome,
            check(outcome, dataset, data.surveyed, data.seeded),
            figures,
            counts,
            follower.left_out(figures["steps"]),
        )
        view.ended(made.kind, act.summary, act.verdict)
        yield act
        if not outcome.finished:
            return


class _Follower:
    """Turns the events of a run into steps of the view, and looks after the nodes where the run waits."""

    def __init__(self, up: Stage, made: RunPlan, dataset: Dataset, view: View, mishaps: Mishaps) -> None:
        self._up = up
        self._kind = made.kind
        self._tellers = 1 if made.kind == "tree" else len(made.members)
        self._unit = dataset.grid.unit**2
        self._view = view
        self._parts: dict[int, list[int]] = {}
        self._course = Course(mishaps, made, up.nodes.kill, up.nodes.restart, up.broker, view.note)

    def left_out(self, steps: int) -> str:
        """A sentence where what was to go wrong has not, in a run of so many steps; "" otherwise."""
        return self._course.left_out(steps)

    def take(self, event: str, data: dict[str, Any]) -> None:
        """An event of the controller."""
        self._course.take(event, data)
        if event == "step":
            parts = self._parts.setdefault(data["step"], [])
            parts.append(data["ssd"])
            if len(parts) == self._tellers:
                self._view.step(self._kind, data["step"], sum(parts) * self._unit)
        elif event == "waiting":
            self._up.require_alive()
            if data["nodes"]:
                self._view.note(f"waiting: {data['reason']}")


def _draw(settings: Settings, dataset: Dataset, report: Report) -> Path:
    # The picture's library takes half a second to load, and the nodes would wait for it.
    from dcka.plots import draw_run, panel

    scenario = settings.scenario
    panels = [panel(act.verdict, f"{NAMES[kind]}, K = {report.k}") for kind, act in report.acts.items()]
    path = (settings.out / PICTURE).absolute()
    return draw_run(dataset, panels, path, title=scenario.title, units=scenario.units)
