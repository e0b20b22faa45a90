"""The data set that the nodes hold before a run, as this host's folder and the broker know it, and [data] wants it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from dcka.config import Config, State
from dcka.errors import DckaError
from dcka.inject.data_file import READINGS
from dcka.inject.dataset import Dataset
from dcka.inject.errors import DataError
from dcka.inject.readings import ReadingSet
from dcka.mqtt.connection import Connection
from dcka.mqtt.readiness import NotReady, named
from dcka.runs.agree import NotAgreed, agree
from dcka.runs.controller import LIMIT_S, OnEvent
from dcka.runs.survey import Survey

Json = dict[str, Any]
Kept = TypeVar("Kept", Dataset, ReadingSet)


@dataclass(frozen=True)
class Held:
    """`record`: of the data set. `distinct`: its different points, where they are kept here. `surveyed`: whether a run
    was made for it. `notes`: sentences for people."""

    record: Json
    distinct: int | None
    surveyed: bool
    notes: tuple[str, ...]


def held_data(found: Survey, config: Config, folder: State) -> tuple[Json, int | None]:
    """The record of the data set that the nodes hold, on a grid that a host has made; its distinct points where it is
    kept here.

    Raises NotReady where the nodes hold none, or different ones; DckaError where it is not as [data] says.
    """
    newest = found.dataset_record or {}
    without = [node for node, status in found.statuses.items() if not status.dataset and status.readings]
    if without or newest.get("bits") == READINGS:
        raise NotReady(
            f"{named(without or found.statuses)}: the newest data there are readings, on no grid yet: run with --range "
            "minmax or --range quantile, or inject data with --range host",
            without,
        )
    held = found.held_dataset()
    kept = kept_here(Dataset, folder)
    if kept is not None and kept.id.hex() == held:
        return _as_configured(kept.record(), config), kept.distinct_points()
    if found.dataset_record is not None and found.dataset_record["dataset"] == held:
        return _as_configured(found.dataset_record, config), None
    raise DckaError(
        f"the nodes hold data set {held}, and neither the broker nor {folder.folder} knows its grid; "
        f"inject the data again"
    )


def record_of(found: Survey, folder: State, dataset: str, what: str) -> Json:
    """The record of the data set of this id, 16 hex digits, which all nodes have to hold.

    `what`: who needs it, for a sentence that goes on with its id. Raises NotReady where the nodes hold others;
    DckaError where nobody knows its grid.
    """
    held = found.held_dataset()
    if held != dataset:
        raise NotReady(
            f"{what} the data set {dataset}, and the nodes hold {held} now: run again, then look again"
        )
    kept = kept_here(Dataset, folder)
    if kept is not None and kept.id.hex() == held:
        return kept.record()
    if found.dataset_record is not None and found.dataset_record["dataset"] == held:
        return found.dataset_record
    raise DckaError(f"neither the broker nor {folder.folder} knows the grid of the data set {held}")


def settled_data(
    connection: Connection,
    config: Config,
    found: Survey,
    number: int,
    folder: State,
    *,
    limit_s: float | None = None,
    on_event: OnEvent | None = None,
) -> Held:
    """The data set that the nodes hold on the grid of their own that [data] asks for, agreed on where need be.

    What they agree on is kept: the outcome of run `number`, and the data set where the readings are kept here.
    Raises as `agree` does; the outcome of a survey that did not finish is kept, too.
    """
    _require_readings_newest(found, config)
    readings, kept = kept_here(ReadingSet, folder), kept_here(Dataset, folder)
    try:
        agreed = agree(
            connection,
            config,
            found,
            number,
            readings=readings,
            kept=kept,
            limit_s=LIMIT_S if limit_s is None else limit_s,
            on_event=on_event,
        )
    except NotAgreed as error:
        error.outcome.save(folder)
        raise
    if agreed.outcome is not None:
        agreed.outcome.save(folder)
        if agreed.dataset is not None:
            agreed.dataset.save(folder.folder)
    distinct = None if agreed.dataset is None else agreed.dataset.distinct_points()
    return Held(agreed.record, distinct, agreed.outcome is not None, agreed.notes)


def _require_readings_newest(found: Survey, config: Config) -> None:
    """Raises DckaError where the broker's record is of data that are on a host's grid: the readings are older."""
    newest = found.dataset_record or {}
    if newest and newest.get("bits") != READINGS and "readings" not in newest:
        raise DckaError(
            f'the newest data of the nodes, {newest.get("name")}, were injected with range = "host", and this run '
            f'is to have range = "{config.data.range}": inject the data again, or run with --range host'
        )


def kept_here(kind: type[Kept], folder: State | Path) -> Kept | None:
    """The data set or the readings that are kept in the folder; None where there are none, or they are damaged."""
    try:
        return kind.load(folder if isinstance(folder, Path) else folder.folder)
    except DataError:
        return None  # the broker may have the record


def _as_configured(record: Json, config: Config) -> Json:
    """The record; raises DckaError where range or scale are not those of [data]."""
    agreed, scale = record.get("range", "host"), record.get("scale", "one")
    if agreed == "host" and scale == config.data.scale:
        return record
    said = f'range = "{config.data.range}" and scale = "{config.data.scale}"'
    options = [f"--range {agreed}"] if agreed != "host" else []
    options += [f"--scale {scale}"] if scale != config.data.scale else []
    raise DckaError(
        f'the nodes hold data with range = "{agreed}" and scale = "{scale}", and this run is to have {said}: '
        f"inject the data again, or run with {' '.join(options)}"
    )
