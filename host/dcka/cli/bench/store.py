"""`dcka bench store`: what keeping readings costs the flash."""

from pathlib import Path

import click

from dcka.cli.options import examples, json_option, network_option
from dcka.cli.output import Output


@click.command(
    "store",
    epilog=examples(
        "dcka bench store                         as network.toml has it, or every 60 s in pieces of 10",
        "dcka bench store --every-s 10 --sync-every 30",
        "dcka bench store --json",
    ),
)
@click.option("--every-s", type=int, metavar="S", help="Seconds between two readings.")
@click.option("--sync-every", type=int, metavar="N", help="Readings that are written together.")
@click.option("--columns", type=int, metavar="N", help="Numbers of a reading.")
@click.option("--readings", type=int, metavar="N", help="How many to keep.  [default: 20000]")
@network_option
@json_option
def command(
    every_s: int | None,
    sync_every: int | None,
    columns: int | None,
    readings: int | None,
    network: Path | None,
    output: Output,
) -> None:
    """Count the flash's writes and erases, and say when it is worn out.

    A node's own code keeps readings on LittleFS, in the MicroPython of this computer, on a chip in memory that counts.
    The years are until the most erased block has had 100,000 erases: docs/sensors.md has the model.
    """
    from dcka.bench.store import Case, store, store_text
    from dcka.cli.board.places import config_if_any

    config = config_if_any(network)
    known: dict[str, int] = {}
    if config is not None and config.sensors.devices:
        sensors = config.sensors
        known = {name: getattr(sensors, name) for name in ("every_s", "sync_every", "keep_kb", "reserve_kb")}
        known["columns"] = len(sensors.columns)
    said = {"every_s": every_s, "sync_every": sync_every, "columns": columns, "readings": readings}
    record = store(
        Case(**known | {name: value for name, value in said.items() if value is not None}), output.say
    )
    output.result(record, store_text(record))
