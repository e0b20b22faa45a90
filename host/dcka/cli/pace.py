"""`dcka pace`: when clusterings begin, and the time, for nodes that sleep deeply."""

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

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
from dcka.errors import UsageError

if TYPE_CHECKING:
    from dcka.broker import BrokerUrl
    from dcka_core.rota import Pace


@click.command(
    "pace",
    epilog=examples(
        "dcka pace                      the pace that the nodes know",
        "dcka pace --every 3600         a clustering every hour, the first in an hour",
        "dcka pace --every 900 --first 60",
        "dcka pace --serve              say the time to whoever wakes, until Ctrl-C",
        "dcka pace --off                no pace: nodes stay awake from their next wake on",
    ),
)
@click.option(
    "--every", type=click.IntRange(10, 31 * 86_400), metavar="S", help="Seconds between clusterings."
)
@click.option(
    "--first", type=click.IntRange(1), metavar="S", help="--every: the first in so many.  [default: --every]"
)
@click.option("--off", is_flag=True, help="Nodes stay awake, from when they next hear of it.")
@click.option("--serve", is_flag=True, help="Say the time to whoever wakes, until Ctrl-C.")
@click.option(
    "--for",
    "seconds",
    type=click.FloatRange(min=0),
    metavar="S",
    help="--serve: end by itself after so long.",
)
@network_option
@broker_option
@state_option
@json_option
def command(
    every: int | None,
    first: int | None,
    off: bool,
    serve: bool,
    seconds: float | None,
    network: Path | None,
    broker: str | None,
    state: Path | None,
    output: Output,
) -> int:
    """Show or set the pace of clusterings, by which nodes with [sleep] deep = true wake and sleep.

    Nodes keep the pace over their sleeps, and the broker for whoever comes later. They also need to be told the time:
    --serve does that; one such process is needed while nodes sleep. The clusterings themselves are another verb's.
    """
    from dcka.mqtt import Connection
    from dcka.mqtt.address import broker_of
    from dcka.runs import pace as pacing

    if off and every is not None:
        raise UsageError("--off and --every say two things; keep one of them")
    if first is not None and every is None:
        raise UsageError("--first goes with --every")
    if seconds is not None and not serve:
        raise UsageError("--for goes with --serve")
    config = configuration(network)
    url = broker_of(config, state_of(config, state), broker)
    name = config.network.name
    with Connection(url, name) as connection:
        if every is not None:
            at = pacing.seconds(time.time()) + (first or every)
            pacing.publish(connection, pacing.pace_of(every, at, config.sleep.awake_s))
        elif off:
            pacing.publish(connection, None)
        found = pacing.published(connection)
    if every is not None and not config.sleep.deep:
        output.say("note: [sleep] deep is false in the network file: its nodes stay awake whatever the pace")
    told = _serve(url, name, seconds, output) if serve else None
    record = {**_record(found), **({} if told is None else {"told": told})}
    output.result(record, _text(found, told))
    return 0


def _serve(url: "BrokerUrl", name: str, seconds: float | None, output: Output) -> int:
    from dcka.cli.until import told_to_end
    from dcka.runs.pace import timekeeping

    end = None if seconds is None else time.monotonic() + seconds
    with told_to_end() as ended, timekeeping(url, name) as keeper:
        output.say(f"says the time to the nodes of {name} at {url}; Ctrl-C ends it")
        while not ended() and (end is None or time.monotonic() < end):
            time.sleep(0.1)
        return keeper.told


def _record(pace: "Pace | None") -> dict[str, object]:
    """`every_s`: null without a pace. `next`: the number of the next clustering, `next_at`: when, ISO 8601."""
    if pace is None:
        return {"every_s": None}
    from dcka.runs.pace import next_start

    number, at = next_start(pace, time.time())
    return {
        "every_s": pace.every_s,
        "awake_s": pace.awake_s,
        "done": pace.done,
        "next": number,
        "next_at": datetime.fromtimestamp(at, UTC).isoformat(),
    }


def _text(pace: "Pace | None", told: int | None) -> str:
    served = "" if told is None else f"; the time was told {told} times"
    if pace is None:
        return "there is no pace: nodes stay awake" + served
    record = _record(pace)
    return (
        f"a clustering every {pace.every_s} s, the next (number {record['next']}) at {record['next_at']}; "
        f"nodes wait {pace.awake_s} s for one" + served
    )
