"""`dcka emulate`: the nodes of a network on this computer, until Ctrl-C."""

import contextlib
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dcka.cli import logs
from dcka.cli.options import (
    broker_option,
    configuration,
    examples,
    faults_of,
    json_option,
    network_option,
    radio_options,
    state_of,
    state_option,
)
from dcka.cli.output import Output
from dcka.cli.until import told_to_end
from dcka.cli.weeks import or_simulated
from dcka.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dcka.broker import BrokerUrl
    from dcka.config import Config
    from dcka.emulation.air import Faults
    from dcka.emulation.cpython import CPythonNetwork
    from dcka.emulation.micropython import MicroPythonNetwork
    from dcka.emulation.network import Additions, NodeFailure
    from dcka.emulation.supervisor import Supervisor


@click.command(
    "emulate",
    epilog=examples(
        "dcka emulate                        all nodes of network.toml, one MicroPython process each",
        "dcka emulate --runtime cpython      all in one Python process: for many nodes, or without MicroPython",
        "dcka emulate --nodes 1-3,7          some here, the others elsewhere, or on boards",
        "dcka emulate --heap 112K --broker mqtt://192.168.1.10",
        "dcka emulate --replay readings.csv  the sensors of the network file read this",
        "dcka emulate --loss 0.2             every fifth message between them is lost, at random",
        "dcka emulate --time-scale 10000     a week in a minute: simulated nodes that sense, sleep and fail",
    ),
)
@click.option(
    "--runtime", metavar="KIND", help="micropython or cpython.  [default: the network file's, micropython]"
)
@click.option(
    "--heap", metavar="SIZE", help="Of each MicroPython process.  [default: the network file's, 128K]"
)
@click.option("--nodes", metavar="IDS", help="Such as 1-5,7.  [default: all of the network file]")
@click.option(
    "--drift", type=float, default=0.0, metavar="SHARE",
    help="Give each node a clock of its own, up to so much wrong; 0.02 at most.",
)  # fmt: skip
@click.option(
    "--replay", type=click.Path(path_type=Path), metavar="FILE.csv",
    help="Stands for the nodes' sensors.  [default: the network file's]",
)  # fmt: skip
@click.option(
    "--folder", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
    help="Keep the nodes' flash there, over restarts; dcka check --nodes reads it.  [default: none is kept]",
)  # fmt: skip
@radio_options
@network_option
@broker_option
@state_option
@json_option
@or_simulated
def command(
    runtime: str | None,
    heap: str | None,
    nodes: str | None,
    drift: float,
    replay: Path | None,
    folder: Path | None,
    network: Path | None,
    broker: str | None,
    state: Path | None,
    output: Output,
    **radio: float,
) -> int:
    """Start nodes on this computer: the firmware in MicroPython processes, or its core under CPython.

    They run until Ctrl-C; what they store goes with them. A node that crashes is shown with its traceback, and the
    exit code is then 1. With --loss and its like the messages that one node says and another hears go through a bad
    radio; what a node says to the host does not.

    With --time-scale nodes are simulated, and so is their time: no broker, no network file, a week of readings and
    radio of real motes, clusterings on a pace, each of them checked (docs/week.md).
    """
    from dcka.emulation.network import drifting, ids_among
    from dcka.mqtt.address import broker_of

    logs.begin_service()
    config = configuration(network).replaced("emulation", runtime=runtime, heap=heap)
    ids = config.ids if nodes is None else ids_among(nodes, config.ids)
    kind = _runtime(config.emulation.runtime, output)
    if heap is not None and kind == "cpython":
        output.say("note: --heap is of MicroPython's processes; CPython has no such limit")
    clocks, faults = drifting(ids, drift), faults_of(**radio)
    additions = _sensed(config, ids, replay, output)
    url = broker_of(config, state_of(config, state), broker)
    return _emulate(config, ids, kind, clocks, additions, folder, url, faults, output)


def _sensed(config: "Config", ids: tuple[int, ...], replay: Path | None, output: Output) -> "Additions":
    """What the nodes get of [sensors]: the file that stands for their devices. Nothing without devices."""
    from dcka.emulation.network import Additions
    from dcka.sensing.replay import replay_files
    from dcka.sensing.settings import REPLAY_FILE, sensor_parts, sensor_settings

    sensors = config.sensors
    file = replay
    if file is None and sensors.replay is not None:
        file = (config.file.parent if config.file else Path()) / sensors.replay
    if not sensors.devices:
        if file is not None:
            raise UsageError(
                "a replay stands for sensors, and [sensors] has no devices: name their columns there"
            )
        return Additions()
    if file is None:
        output.say("note: nodes on this computer have no pins: without [sensors] replay they sense nothing")
        return Additions()
    # The split is over all nodes, of which some may be elsewhere.
    contents = replay_files(file, config.ids, sensors, config.data)
    return Additions(
        sensor_parts(sensors, replayed=True),
        sensor_settings(sensors, replayed=True),
        {node: {REPLAY_FILE: contents[node]} for node in ids},
    )


def _emulate(
    config: "Config",
    ids: tuple[int, ...],
    kind: str,
    clocks: dict[int, int],
    additions: "Additions",
    folder: Path | None,
    url: "BrokerUrl",
    faults: "Faults",
    output: Output,
) -> int:
    from dcka.emulation.supervisor import Supervisor
    from dcka.mqtt import Connection

    with Connection(url, config.network.name, role="emulate") as connection:
        watched = Supervisor(connection, ids, _shower(output), output.say, output.warn)
        watched.require_free()
        with (
            _air(url, faults, output) as heard_at,
            _network(kind, config, ids, clocks, additions, folder, heard_at) as running,
        ):
            begun = time.monotonic()
            missing = watched.await_online(running)
            with told_to_end() as told:
                _report(watched, missing, time.monotonic() - begun, kind, config, url, faults, output)
                if len(watched.failed) < len(ids):
                    output.say("they run until Ctrl-C")
                watched.watch(running, told)
    if not told():
        output.say("no node is left")
    return 1 if watched.failed else 0


@contextlib.contextmanager
def _air(url: "BrokerUrl", faults: "Faults", output: Output) -> "Iterator[BrokerUrl]":
    """Where the nodes find their broker; with faults that is a bad radio, whose counts are said in the end."""
    if not faults:
        yield url.for_nodes()
        return
    from dcka.emulation.faults import FaultyRadio

    output.say(f"the radio between the nodes {faults}")
    with FaultyRadio(url.for_nodes, faults) as radio:
        try:
            yield radio.address
        finally:
            output.say(str(radio.counts()))


def _shower(output: Output) -> "Callable[[NodeFailure], None]":
    """What shows a crash: its sentence, and its traceback, if none like it was shown before."""
    shown: set[tuple[str, ...]] = set()

    def show(failure: "NodeFailure") -> None:
        output.error(failure.sentence)
        if failure.output not in shown:
            shown.add(failure.output)
            for line in failure.output:
                output.say(f"  {line}")

    return show


def _report(
    watched: "Supervisor",
    missing: dict[int, str],
    seconds: float,
    kind: str,
    config: "Config",
    url: "BrokerUrl",
    faults: "Faults",
    output: Output,
) -> None:
    for node, reason in missing.items():
        if node not in watched.failed:
            output.error(reason)
    online = [node for node in watched.ids if node not in missing]
    output.result(
        {
            "network": config.network.name,
            "broker": str(url),
            "runtime": kind,
            "heap": config.emulation.heap if kind == "micropython" else None,
            "nodes": watched.ids,
            "online": online,
            "missing": missing,
            "seconds": round(seconds, 3),
            "radio": faults.record() if faults else None,
        },
        f"{len(online)} of {len(watched.ids)} nodes of network {config.network.name} are online at {url}"
        f" ({kind}, {seconds:.2g} s)",
    )


def _runtime(wanted: str, output: Output) -> str:
    """The one that is wanted; CPython, with a word, where there is no MicroPython for this machine."""
    from dcka.emulation.micropython import available

    if wanted == "micropython" and not (state := available()):
        output.say(f"note: {state.reason}; that is what runs now")
        return "cpython"
    return wanted


def _network(
    kind: str,
    config: "Config",
    ids: tuple[int, ...],
    clocks: dict[int, int],
    additions: "Additions",
    folder: Path | None,
    url: "BrokerUrl",
) -> "MicroPythonNetwork | CPythonNetwork":
    from dcka.emulation.network import room_for

    room = room_for(config.ids)
    if kind == "cpython":
        from dcka.emulation.cpython import CPythonNetwork

        if config.sleep.deep:
            raise UsageError("[sleep] deep = true: only nodes of the runtime micropython sleep deeply")
        return CPythonNetwork(
            config.network.name, ids, url, max_message=room, clocks=clocks, additions=additions, folder=folder
        )
    from dcka.emulation.micropython import MicroPythonNetwork

    heap = config.emulation.heap
    size = f"{heap // 1024}K" if heap % 1024 == 0 else str(heap)
    sleep = config.sleep.node if config.sleep.deep else None
    return MicroPythonNetwork(
        config.network.name,
        ids,
        url,
        heap=size,
        max_message=room,
        clocks=clocks,
        additions=additions,
        sleep=sleep,
        folder=folder,
    )
