"""A clustering of a stream: its points are those of the nodes' own readings, its start is where the last one ended."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dcka.check.subject import Subject
from dcka.check.verdict import Findings
from dcka.errors import DckaError, UsageError
from dcka.inject import data_file
from dcka.inject.dataset import Dataset, grid_of
from dcka.inject.gathered import gathered
from dcka.reference import ReadingsWindow, WindowPoints, remembered, segment_readings
from dcka.runs.outcome import Outcome, OutcomeError, decode_commit, greatest_holder

Json = dict[str, Any]

SEGMENTS = "segments"


@dataclass(frozen=True, eq=False)
class WindowDataset(Dataset):
    """The points of a window as the reference makes them. `told`: the id that the nodes' points have."""

    told: bytes = b""

    @cached_property
    def id(self) -> bytes:
        """The 8 bytes that name the data set."""
        return self.told


@dataclass(frozen=True, eq=False)
class Streamed:
    """`record`: of the data set, as it was kept. `made`: by node what the reference makes of its readings. `before`:
    what the clustering took over, None for the first. `previous`: from which run that was, where it is kept.
    """

    record: Json
    made: Mapping[int, WindowPoints]
    before: Json | None
    previous: Outcome | None


def window_of_nodes(folder: Path, record: Json) -> tuple[WindowDataset, dict[int, WindowPoints]]:
    """The data set of a window out of the nodes' flash: `folder`/<id>/segments, as `dcka emulate --folder` keeps it.

    `record`: of the data set. Raises UsageError where a node's folder is not there; DckaError where it is of no window.
    """
    try:
        window = ReadingsWindow.of(record["window"])
        grid = grid_of(record)
        columns = " ".join(
            f"{name}/{d}" for name, d in zip(record["columns"], record["decimals"], strict=True)
        )
        nodes = [int(node) for node in record["nodes"]]
    except (KeyError, TypeError, ValueError) as error:
        raise DckaError(f"what is kept of the window is broken ({error!r}); cluster again") from error
    made = {}
    for node in nodes:
        place = folder / str(node) / SEGMENTS
        if not place.is_dir():
            raise UsageError(
                f"--nodes {folder}: there is no {place}; name the folder that dcka emulate --folder keeps"
            )
        files = sorted(one for one in place.iterdir() if one.name.isdigit())
        made[node] = window.points(segment_readings([one.read_bytes() for one in files], columns))
    values = {node: grid.to_units(one.points) for node, one in made.items()}
    parts = gathered(str(record["name"]), record["columns"], values).parts()
    clipped = np.sum([one.clipped for one in made.values()], axis=0)
    dataset = WindowDataset(
        **parts,
        grid=grid,
        points={node: one.points for node, one in made.items()},
        clipped=tuple(int(count) for count in clipped),
        told=window.dataset,
    )
    return dataset, made


def check_stream(subject: Subject, streamed: Streamed, found: Findings) -> None:
    """Each node's points are the reference's, and start and prior follow from the clustering before."""
    _check_points(streamed, subject.dataset, found)
    before = streamed.before
    found.figures["prior"] = subject.outcome.record.get("prior")
    if before is None:
        found.hold("it is the first of its stream: nothing is taken over")
        return
    _check_start(subject, before, streamed.previous, found)
    half_life = before.get("half_life_s")
    if half_life is None:
        if subject.outcome.record.get("prior") is not None:
            found.fail("the record has a prior, and nothing was to be remembered")
        return
    wanted = list(remembered(before["weights"], before["passed_s"], half_life))
    if subject.outcome.record.get("prior") != wanted:
        found.fail(
            f"the prior is {subject.outcome.record.get('prior')}, and of {before['weights']} after "
            f"{before['passed_s']} s with a half-life of {half_life} s {wanted} is left"
        )
    found.hold(
        f"what the last centres count as is what the half-life leaves of them: {sum(wanted):,} readings"
    )


def _check_points(streamed: Streamed, dataset: Dataset, found: Findings) -> None:
    wrong = []
    for node, one in streamed.made.items():
        told = streamed.record["nodes"][str(node)]
        content = data_file.encode(one.points, dataset.grid.bits, dataset.grid.extents, dataset.id)
        digest = data_file.checksum(content)[:16]
        if (told.get("rows"), told.get("data")) != (len(one.points), digest):
            wrong.append(
                f"node {node}: it held {told.get('rows')} points ({told.get('data')}), and its readings make "
                f"{len(one.points)} ({digest})"
            )
    found.fail(*wrong)
    if not wrong:
        found.hold(
            "every node's points are those that the reference makes of its own readings, byte for byte"
        )
    if list(streamed.record["clipped"]) != list(dataset.clipped) and len(dataset.clipped) <= 16:
        found.fail(
            f"the nodes have clipped {streamed.record['clipped']}, the reference {list(dataset.clipped)}"
        )


def _check_start(subject: Subject, before: Json, previous: Outcome | None, found: Findings) -> None:
    if previous is None:
        found.hold(f"run {before.get('run')}, from whose centres it started, is not kept here")
        return
    try:
        commit = decode_commit(previous, greatest_holder(previous))
    except (OutcomeError, ValueError) as error:
        found.fail(f"run {previous.run}, from which it started, can't be read: {error}")
        return
    if subject.run.centres != list(commit.centres):
        found.fail(f"it does not start from the centres that run {previous.run} came to")
    prior = previous.record.get("prior") or [0] * len(commit.counts)
    weights = [had + got for had, got in zip(prior, commit.counts, strict=True)]
    if before["weights"] != weights:
        found.fail(f"run {previous.run} left the weights {weights}, and it went by {before['weights']}")
    found.hold(f"it starts from the centres that run {previous.run} came to")
