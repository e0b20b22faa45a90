"""`dcka inject`: readings from a file, or of an example, to the nodes."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dcka.cli.options import (
    broker_option,
    configuration,
    examples,
    json_option,
    network_option,
    state_of,
    state_option,
)
from dcka.cli.output import Output
from dcka.cli.readings import (
    data_of,
    facts_of,
    note_of_options,
    reading_options,
    replace_option,
    warn_of_k,
    words_of,
)

if TYPE_CHECKING:
    from dcka.broker import BrokerUrl
    from dcka.config import Config
    from dcka.inject.dataset import Dataset
    from dcka.inject.readings import ReadingSet


@click.command(
    "inject",
    epilog=examples(
        "dcka inject readings.csv                     every column of numbers, rows dealt in turn",
        "dcka inject readings.csv --split-by mote --columns humidity,temperature",
        "dcka inject export.csv --delimiter ';' --decimal ',' --missing-marker -200",
        "dcka inject readings.csv --scale std         each column counts by its standard deviation",
        "dcka inject readings.csv --range quantile    the nodes agree on the range, wild readings left out",
        "dcka inject --data gaussians                 the nine Gaussians of the paper",
        "dcka inject --data suthaharan                four real motes, for a network of four nodes",
    ),
)
@reading_options
@replace_option
@network_option
@broker_option
@state_option
@json_option
def command(
    file: Path | None,
    data: str | None,
    replace: bool,
    network: Path | None,
    broker: str | None,
    state: Path | None,
    output: Output,
    **reading: Any,
) -> None:
    """Give every node its readings.

    The file is read whole and checked before a byte is sent; then every node stores its part, and keeps its old
    data until the new are there, whole. A node whose flash has no room for both is named before anything changes;
    with --replace the old data go first. What is not given here is as [data] of network.toml has it.
    """
    from dcka.mqtt.address import broker_of

    config = configuration(network)
    dataset = data_of(file, data, config, reading)
    for sentence in dataset.report.sentences():
        output.say(sentence)
    warn_of_k(dataset, config, output)
    note_of_options(config, reading, output)
    folder = state_of(config, state)
    record = _send(dataset, config, broker_of(config, folder, broker), replace)
    folder.make_folder(folder.folder)
    dataset.save(folder.folder)
    output.result(record, words_of(record, config))


def _send(
    dataset: "Dataset | ReadingSet", config: "Config", url: "BrokerUrl", replace: bool
) -> dict[str, Any]:
    """Send it; what was sent, as the verb's record."""
    from dcka.inject.transfer import send
    from dcka.mqtt.connection import Connection

    with Connection(url, config.network.name) as connection:
        begun = time.monotonic()
        results = send(connection, dataset, replace=replace)
        wall_s = time.monotonic() - begun
    return {
        **facts_of(dataset),
        "skipped": [node for node, result in results.items() if result.skipped],
        "bytes": sum(result.bytes for result in results.values() if not result.skipped),
        "wall_s": wall_s,
    }
