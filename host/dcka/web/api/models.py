"""What the read API answers. Times are ISO 8601 in UTC; ids of nodes are keys of objects as text."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

Table = list[list[float]]
Kind = Literal["tree", "gossip", "survey", "seeding", "score", "tail"]
State = Literal["running", "finished", "partial", "failed", "unknown"]


class Problem(BaseModel):
    """Why there is no such answer."""

    detail: Annotated[str, Field(description="A sentence for a person.")]


class Network(BaseModel):
    """A network of which runs are stored."""

    network: str
    runs: int


class Summary(BaseModel):
    """A run, as in a list."""

    run: Annotated[int, Field(description="Its number in its network, which may begin anew.")]
    network: str
    uid: Annotated[str, Field(description="16 hex digits that name it for ever.")]
    id: Annotated[int, Field(description="Its place in the order in which runs were stored.")]
    kind: Kind
    k: int
    nodes: int
    dataset: str
    data: Annotated[str, Field(description="The data set's name; empty where it is not known.")]
    began_at: str | None
    unseen: Annotated[bool, Field(description="Whether it had begun before anybody listened.")]
    heard_at: str | None
    state: State
    step_count: int
    ssd: Annotated[float | None, Field(description="In the user's units where in_units, else of the grid.")]
    in_units: bool
    converged: bool | None
    missing: Annotated[list[int], Field(description="Nodes whose readings are not in all of it.")]
    reason: Annotated[str, Field(description="Why it did not finish.")]
    wall_s: float | None
    verdict: Annotated[
        str | None, Field(description="PASS, PARTIAL or FAIL; null where nobody has checked it.")
    ]


class Page(BaseModel):
    """Runs, the newest first."""

    runs: list[Summary]
    next: Annotated[int | None, Field(description="`before` of the next page; null on the last.")]


class Gap(BaseModel):
    """A time in which something may have been said that is not stored; an end that is null lasts."""

    kind: Annotated[str, Field(description="monitor, broker, store or unseen.")]
    began_at: str | None
    ended_at: str | None


class Details(Summary):
    """A run with its record."""

    record: Annotated[
        dict[str, Any], Field(description="What the host published (docs/protocol.md, section 3).")
    ]
    columns: list[str]
    lost_steps: Annotated[list[int], Field(description="Steps of which nothing is stored.")]
    gaps: list[Gap]
    check: Annotated[dict[str, Any] | None, Field(description="The verdict's reasons and figures.")]


class Centroids(BaseModel):
    """What a run came to, as far as it is known."""

    columns: list[str]
    in_units: bool
    centroids: Annotated[Table | None, Field(description="K rows of n numbers; null where none are known.")]
    counts: Annotated[list[int] | None, Field(description="The readings of each cluster.")]


class Step(BaseModel):
    """An outer step t, and the commit t + 1 that came of it."""

    step: int
    at: str | None
    ssd: Annotated[float | None, Field(description="Of the centres that the step began with.")]
    centres: Table | None
    counts: list[int] | None
    contributors: list[int]
    missing: list[int]
    epoch: int
    root: int
    final: bool
    converged: bool
    slots: Annotated[int | None, Field(description="Of gossip.")]


class Steps(BaseModel):
    """Steps in order."""

    steps: list[Step]
    next: Annotated[int | None, Field(description="`since` of the next page; null on the last.")]


class Results(BaseModel):
    """What the nodes said of the end."""

    results: Annotated[
        dict[str, dict[str, Any]], Field(description="By node; docs/protocol.md, section 7, has the keys.")
    ]
