"""`dcka board image`: MicroPython, firmware, configuration and data onto boards in one go."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dcka.cli.board.flash import image_source, progress_bars
from dcka.cli.board.image_file import chip_for, require_chip, write_image
from dcka.cli.board.provision import can_ask, prompt_for, secrets_for
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
from dcka.cli.readings import dataset_of, reading_options, warn_of_k
from dcka.errors import UsageError

if TYPE_CHECKING:
    from dcka.boards.assigning import Assignment
    from dcka.boards.first_install import Written
    from dcka.boards.flashing import Detected
    from dcka.boards.ports import PortInfo
    from dcka.boards.registry import Registry
    from dcka.boards.secrets import Secrets
    from dcka.boards.versions import Version
    from dcka.config import Config, State
    from dcka.errors import DckaError
    from dcka.inject.dataset import Dataset

_FILE = click.Path(path_type=Path, dir_okay=False)
_FLASH_MB = 4


@click.command(
    "image",
    epilog=examples(
        "dcka board image --all                                     new boards, without readings",
        "dcka board image --all readings.csv --split-by mote        with them",
        "dcka board image --port /dev/ttyUSB0 --node 3 --erase",
        "dcka board image --node 3 --chip esp32c3 --output node3.bin",
    ),
)
@click.option("--port", "ports", multiple=True, metavar="PATH", help="A board's port; may be repeated.")
@click.option("--all", "all_", is_flag=True, help="Every board that is plugged in.")
@click.option(
    "--node", type=int, metavar="ID", help="The id, for one board.  [default: as before, or the next free]"
)
@click.option(
    "--output", "file_out", type=_FILE, metavar="FILE", help="Only write the image of --node to a file."
)
@click.option("--chip", metavar="NAME", help="For --output: esp32, esp32s3, …  [default: that of --image]")
@click.option(
    "--flash-mb", type=click.IntRange(1, 128), default=_FLASH_MB, show_default=True, metavar="N",
    help="For --output: the size of the board's flash.",
)  # fmt: skip
@click.option(
    "--image", type=_FILE, metavar="FILE", help="A MicroPython image.  [default: fetched for the chip]"
)
@click.option("--sha256", metavar="DIGEST", help="What the MicroPython image has to have.")
@click.option("--allow-old", is_flag=True, help="Take a MicroPython that the firmware does not run on.")
@click.option(
    "--source", is_flag=True, help="Sources instead of .mpy files: slower, with line numbers in errors."
)
@click.option("--erase", is_flag=True, help="Erase the whole flash first.")
@click.option("--wifi-password-file", type=_FILE, metavar="FILE", help="Or DCKA_WIFI_PASSWORD, or a prompt.")
@click.option(
    "--broker-password-file", type=_FILE, metavar="FILE", help="Or DCKA_BROKER_PASSWORD, or a prompt."
)
@click.option(
    "--jobs", type=click.IntRange(1, 64), default=8, show_default=True, metavar="N", help="Boards at a time."
)
@reading_options
@network_option
@broker_option
@state_option
@json_option
def command(
    ports: tuple[str, ...],
    all_: bool,
    node: int | None,
    file_out: Path | None,
    chip: str | None,
    flash_mb: int,
    image: Path | None,
    sha256: str | None,
    allow_old: bool,
    source: bool,
    erase: bool,
    wifi_password_file: Path | None,
    broker_password_file: Path | None,
    jobs: int,
    file: Path | None,
    data: str | None,
    network: Path | None,
    broker: str | None,
    state: Path | None,
    output: Output,
    **reading: Any,
) -> int:
    """Write MicroPython, firmware, configuration and readings onto boards, in one go.

    For new boards, or to begin anew: what flash, provision and inject do one after the other, esptool writes at once
    and verifies; the file system that was on the board is replaced by a new one. Each board gets the next free id,
    or the one that it had; --node says it for one board. Readings are optional; they are kept for dcka run.

    --output writes the image for one node to a file, for another program to flash. The passwords are in it, so only
    its owner can read it.
    """
    from dcka.boards.secrets import Sources

    begun = time.monotonic()
    config = configuration(network)
    place = state_of(config, state)
    asked = Sources(wifi_password_file, broker_password_file, prompt=prompt_for if can_ask() else None)
    chosen = _chosen(ports, all_, file_out, node, chip, config, output)
    readings = _readings(file, data, config, reading, output)
    recipe = _recipe(config, place, broker, chosen, asked, source, readings)
    known: dict[str, Any] = {}
    image_for = image_source(image, sha256, allow_old, known, output)
    if file_out is not None and node is not None:
        from dcka.boards.pins import require_pins

        meant = chip_for(chip, image)
        require_pins(config.sensors, meant)
        found = image_for(meant)
        require_chip(found, meant)
        return write_image(file_out, recipe.version(node, meant.march), found, flash_mb, output)
    from dcka.boards.first_install import install
    from dcka.boards.registry import Registry

    with progress_bars(output, [port.path for port in chosen]) as tell:
        results = install(
            [port.path for port in chosen],
            image_for,
            _Versions(recipe, chosen, Registry(place), node, output),
            erase=erase,
            parallel=jobs,
            on_progress=tell,
        )
    if readings is not None and all(result.outcome.ok for result in results):
        place.make_folder(place.folder)
        readings.save(place.folder)
    return _report(results, readings, time.monotonic() - begun, output)


@dataclass(frozen=True)
class _Recipe:
    """What all boards have in common."""

    config: "Config"
    secrets: "Secrets"
    source: bool
    data: "Dataset | None"

    def version(self, node: int, march: str | None) -> "Version":
        from dcka.boards.versions import wanted_version

        content = self.data.data_file(node) if self.data is not None else None
        return wanted_version(self.config, node, march, self.secrets, self.source, content)


@dataclass(frozen=True)
class _Versions:
    """Gives each board that answered its id, notes it, and makes its version. Raises UsageError before any note."""

    recipe: _Recipe
    chosen: "Sequence[PortInfo]"
    registry: "Registry"
    node: int | None
    output: Output

    def __call__(self, found: "Sequence[Detected]") -> "Mapping[str, Version | DckaError]":
        from dcka.boards.assigning import Candidate, assigned

        infos = {info.path: info for info in self.chosen}
        candidates = [Candidate(infos[board.port], board.mac) for board in found]
        with self.registry.alone():
            plan = assigned(candidates, self.recipe.config.ids, self.registry.boards(), self.node)
            return self._versions(plan, found)

    def _versions(
        self, plan: "Sequence[Assignment]", found: "Sequence[Detected]"
    ) -> "Mapping[str, Version | DckaError]":
        from dcka.boards.first_install import native_march
        from dcka.boards.pins import require_pins
        from dcka.errors import DckaError

        chips = {board.mac: board.chip for board in found}
        versions: dict[str, Version | DckaError] = {}
        for one in plan:
            self.output.say(f"{one.port.path} ({one.mac}) becomes node {one.node}")
            try:
                before = self.registry.assign(one.mac, one.node)
                self.registry.seen(one.mac, one.port.path, one.port.serial, one.port.usb)
                require_pins(self.recipe.config.sensors, chips[one.mac])
                versions[one.mac] = self.recipe.version(
                    one.node, native_march(chips[one.mac].march, one.port.path)
                )
            except DckaError as error:
                versions[one.mac] = error
                continue
            if before is not None:
                self.output.say(f"note: node {one.node} was the board {before}, which has no id now")
        return versions


def _chosen(
    ports: Sequence[str],
    all_: bool,
    file_out: Path | None,
    node: int | None,
    chip: str | None,
    config: "Config",
    output: Output,
) -> "list[PortInfo]":
    """The boards that are meant; none for --output. Raises UsageError for what does not go together."""
    from dcka.boards.ports import chosen_ports
    from dcka.cli.board.places import boards_among
    from dcka.topology.graph import named_ids

    if file_out is not None and (ports or all_):
        raise UsageError("--output writes a file and no board: leave out --port and --all")
    if file_out is not None and node is None:
        raise UsageError("--output needs the id that the image is for: --node ID")
    if file_out is None and chip is not None:
        raise UsageError("--chip goes with --output: a board says itself what it is")
    if node is not None and node not in config.ids:
        raise UsageError(f"--node {node} is not in the network; its nodes are {named_ids(config.ids)}")
    if file_out is not None:
        return []
    chosen = boards_among(chosen_ports(ports, all_), all_, output)
    if node is not None and len(chosen) > 1:
        raise UsageError(f"--node {node} is one id, and there are {len(chosen)} boards: name one with --port")
    return chosen


def _readings(
    file: Path | None, data: str | None, config: "Config", reading: dict[str, Any], output: Output
) -> "Dataset | None":
    if file is None and data is None:
        if any(value not in (None, ()) for value in reading.values()):
            raise UsageError("the options for columns, rows and cells go with a file of readings: name one")
        return None
    dataset = dataset_of(file, data, config, reading)
    for sentence in dataset.report.sentences():
        output.say(sentence)
    warn_of_k(dataset, config, output)
    return dataset


def _recipe(
    config: "Config",
    place: "State",
    broker: str | None,
    chosen: "Sequence[PortInfo]",
    asked: Any,
    source: bool,
    readings: "Dataset | None",
) -> _Recipe:
    from dcka.boards.broker_choice import broker_for_boards
    from dcka.broker.own_address import is_loopback

    url = broker_for_boards(config, place, broker, [port.path for port in chosen])
    unreachable = [address for address in url.addresses if is_loopback(address.host)]
    if not chosen and unreachable:
        raise UsageError(
            f"{unreachable[0]} is this computer's own loopback, which no board reaches: name another with --broker"
        )
    config = config.with_broker(url)
    if not chosen and config.wifi.ssid is None:
        raise UsageError(f'{config.source.name} names no Wi-Fi: write ssid = "NAME" under [wifi]')
    return _Recipe(config, secrets_for(config, chosen, asked), source, readings)


def _report(results: "Sequence[Written]", readings: "Dataset | None", wall_s: float, output: Output) -> int:
    failed = [result.outcome for result in results if not result.outcome.ok]
    record = {
        "boards": [_board_record(result, readings) for result in results],
        "flashed": len(results) - len(failed),
        "failed": len(failed),
        "wall_s": round(wall_s, 2),
    }
    words = [
        f"node {result.version.node} on {result.outcome.port}: MicroPython {result.image.version_text}, "
        f"{len(result.version.tree())} files, verified"
        for result in results
        if result.outcome.ok and result.version is not None and result.image is not None
    ]
    done = f"{record['flashed']} of {len(results)} boards written in {wall_s:.1f} s"
    output.result(record, "\n".join([*words, done]))
    for sentence in dict.fromkeys(outcome.error for outcome in failed):
        output.say(f"dcka: {sentence}")
    return failed[0].exit_code if failed else 0


def _board_record(result: "Written", readings: "Dataset | None") -> dict[str, object]:
    outcome, version = result.outcome, result.version
    names = ("port", "chip", "mac", "ok", "verified", "seconds", "baud", "error")
    return {
        **{name: getattr(outcome, name) for name in names},
        "node": version.node if version else None,
        "network": version.network if version else None,
        "folder": version.folder if version else None,
        "files": len(version.tree()) if version else 0,
        "points": len(readings.points[version.node]) if readings is not None and version else 0,
        "micropython": result.image.version_text if result.image else None,
    }
