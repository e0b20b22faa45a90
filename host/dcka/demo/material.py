"""The readings of a demonstration as its settings have them: with a spike, and for the host's range or the nodes'."""

from dataclasses import replace
from typing import cast

from dcka.config.sections import DataSection
from dcka.inject.dataset import Dataset, on_grid
from dcka.inject.gathered import Gathered
from dcka.inject.quantise import Scale
from dcka.inject.readings import ReadingSet, as_readings

SPIKE_DEVIATIONS = 100


def material(data: Gathered, wanted: DataSection, spike: bool) -> Dataset | ReadingSet:
    """The scenario's readings as the nodes get them: on a grid, or themselves."""
    whole = spiked(data) if spike else data
    if wanted.range != "host":
        return as_readings(whole, wanted.scale)
    return on_grid(whole, scale=cast(Scale, wanted.scale))


def spiked(data: Gathered) -> Gathered:
    """The readings with the first node's first one moved: in each column 100 standard deviations above the mean."""
    first = data.node_ids[0]
    every = data.every
    own = data.values[first].copy()
    own[0] = every.mean(axis=0) + SPIKE_DEVIATIONS * every.std(axis=0)
    return Gathered(
        **data.parts() | {"values": {**data.values, first: own}, "report": replace(data.report, warnings=())}
    )


def resolution(dataset: Dataset, data: Gathered) -> dict[str, float]:
    """By column, how many levels of the grid a standard deviation of the scenario's readings, without a spike, has."""
    deviations = data.every.std(axis=0).tolist()
    columns = zip(dataset.columns, deviations, dataset.grid.steps, strict=True)
    return {name: deviation / step for name, deviation, step in columns}
