"""The routes of the read API: networks, runs, and what is stored of a run."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response

from dcka.history import History, StoredRun
from dcka.web.api import models
from dcka.web.api.route import PlainRoute

PREFIX = "/api/v1"
MOST_RUNS, MOST_STEPS = 500, 1000

_REFUSALS: dict[int | str, dict[str, Any]] = {
    304: {"description": "The client has it already (If-None-Match)."},
    422: {"model": models.Problem, "description": "A parameter is not what it has to be."},
    503: {"model": models.Problem, "description": "The history cannot be read at the moment."},
}
_OF_A_RUN = {404: {"model": models.Problem, "description": "There is no such run."}, **_REFUSALS}

_Network = Annotated[str | None, Query(max_length=64, description="Of this network alone.")]
_Ref = Annotated[
    str,
    Path(max_length=100, description='A number, "last", or the first digits of a uid, four at least.'),
]


def router(history: History, prefix: str = PREFIX) -> APIRouter:
    """What is stored in `history`, read from it at each request; nothing is written."""
    made = APIRouter(prefix=prefix, tags=["results"], route_class=PlainRoute)
    _lists(made, history)
    _of_a_run(made, history)
    return made


def _lists(made: APIRouter, history: History) -> None:
    @made.get("/networks", responses=_REFUSALS)
    def networks() -> list[models.Network]:
        """The networks of which runs are stored."""
        return [models.Network(network=name, runs=count) for name, count in history.networks().items()]

    @made.get("/runs", responses=_REFUSALS)
    def runs(
        response: Response,
        network: _Network = None,
        kind: Annotated[list[models.Kind] | None, Query(description="May be there twice.")] = None,
        state: Annotated[models.State | None, Query(description="Runs that are in it.")] = None,
        limit: Annotated[int, Query(ge=1, le=MOST_RUNS, description="The most runs of a page.")] = 50,
        before: Annotated[
            int | None, Query(ge=0, lt=1 << 63, description="`next` of the page before.")
        ] = None,
    ) -> models.Page:
        """Runs, the newest first, a page of them."""
        found = history.runs(network, limit=limit + 1, before=before, kinds=kind or (), state=state)
        more = found[limit - 1].id if len(found) > limit else None
        return models.Page(runs=[_summary(run) for run in found[:limit]], next=more)


def _of_a_run(made: APIRouter, history: History) -> None:
    @made.get("/runs/{ref}", responses=_OF_A_RUN)
    def run(ref: _Ref, network: _Network = None) -> models.Details:
        """A run, its record, and what was not seen of it."""
        found = history.run(ref, network)
        return models.Details(
            **found.summary(),
            record=found.run_record,
            columns=found.columns,
            lost_steps=found.lost_steps,
            gaps=[models.Gap(**gap.record()) for gap in found.gaps],
            check=found.check,
        )

    @made.get("/runs/{ref}/centroids", responses=_OF_A_RUN)
    def centroids(ref: _Ref, network: _Network = None) -> models.Centroids:
        """The centres of the last step that is known, and the readings of each."""
        found = history.run(ref, network)
        table, counts = found.centroids, found.counts
        return models.Centroids(
            columns=found.columns,
            in_units=found.in_units,
            centroids=None if table is None else table.tolist(),
            counts=None if counts is None else counts.tolist(),
        )

    @made.get("/runs/{ref}/steps", responses=_OF_A_RUN)
    def steps(
        ref: _Ref,
        network: _Network = None,
        since: Annotated[int, Query(ge=0, lt=1 << 32, description="The first step that is wanted.")] = 0,
        limit: Annotated[int, Query(ge=1, le=MOST_STEPS, description="The most steps of a page.")] = 100,
    ) -> models.Steps:
        """The outer steps in order, a page of them."""
        wanted = [step for step in history.run(ref, network).steps if step.step >= since]
        more = wanted[limit].step if len(wanted) > limit else None
        return models.Steps(steps=[models.Step(**step.record()) for step in wanted[:limit]], next=more)

    @made.get("/runs/{ref}/results", responses=_OF_A_RUN)
    def results(ref: _Ref, network: _Network = None) -> models.Results:
        """What each node said of the end."""
        found = history.run(ref, network).results
        return models.Results(results={str(node): result for node, result in found.items()})


def _summary(run: StoredRun) -> models.Summary:
    return models.Summary(**run.summary())
