"""What stands before a run: the nodes, the data set that they hold, and the number that comes next."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dcka.cli.run_view import RunView
    from dcka.config import Config, State
    from dcka.mqtt import Connection

Json = dict[str, Any]


@dataclass(frozen=True)
class Held:
    """`number`: the next run's. `record`: of the data set that the nodes hold. `distinct`: its different points, where
    they are kept here. `max_message`: what each node takes, in bytes."""

    number: int
    record: Json
    distinct: int | None
    max_message: dict[int, int]


def held_by_nodes(
    connection: "Connection",
    config: "Config",
    folder: "State",
    limit: float | None,
    wait: float | None,
    view: "RunView",
) -> Held:
    """Wait for the nodes, `wait` seconds; where [data] wants it, let them agree on the range of their readings."""
    from dcka.mqtt.readiness import READY_S
    from dcka.runs.held import held_data, settled_data
    from dcka.runs.survey import next_number, survey

    view.show(f"waiting for {len(config.ids)} nodes at {connection.url}")
    found = survey(connection, config.ids, READY_S if wait is None else wait, view.missing)
    number = next_number(found, folder)
    if config.data.range == "host":
        return Held(number, *held_data(found, config, folder), found.max_message)
    held = settled_data(connection, config, found, number, folder, limit_s=limit, on_event=view.take)
    for note in held.notes:
        view.output.say(note)
    return Held(number + held.surveyed, held.record, held.distinct, found.max_message)
