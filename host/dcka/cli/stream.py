"""`dcka stream`: cluster what nodes sense, once or on a period."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dcka.cli.history import Kept, history_options
from dcka.cli.options import (
    broker_option,
    configuration,
    examples,
    json_option,
    network_option,
    reveal_option,
    state_of,
    state_option,
)
from dcka.cli.output import Output
from dcka.cli.stream_period import DRIFTED
from dcka.errors import DckaError, UsageError

if TYPE_CHECKING:
    from dcka.cli.run_view import RunView
    from dcka.config import Config, State
    from dcka.streams.clustering import Clustering, Stream

Json = dict[str, Any]


@click.command(
    "stream",
    epilog=examples(
        "dcka stream --once                     one clustering of the last window, from the last centres",
        "dcka stream --every 1h --for 7d        one an hour, for a week",
        "dcka stream --window 24h               over the readings of the last day",
        "dcka stream --half-life 6h             all that was ever sensed; what is 6 hours old counts half",
        "dcka stream --once --alarm --json      exit code 3 where a centre has moved far",
        "dcka stream --anomalies 0.99 --reveal  and the farthest readings of each window",
    ),
)
@click.option("--once", is_flag=True, help="One clustering, now.")
@click.option("--every", metavar="TIME", help="From one clustering to the next.")
@click.option("--for", "lasting", metavar="TIME", help="End after so long.  [default: at Ctrl-C]")
@click.option("--window", metavar="TIME", help="How far back the readings of a clustering go.")
@click.option("--half-life", metavar="TIME", help="Each reading counts once, and half as much after so long.")
@click.option(
    "--drift", type=float, metavar="PART", help="Of the range, beyond which a moved centre is told of."
)
@click.option("--alarm", is_flag=True, help=f"Exit code {DRIFTED} where a centre has drifted.")
@click.option(
    "--anomalies", type=float, metavar="Q", help="After each clustering find what is farther away than this quantile."
)  # fmt: skip
@reveal_option
@click.option("--anew", is_flag=True, help="Forget the last centres, and begin as [run] init says.")
@click.option(
    "--limit", type=click.FloatRange(min=0.1), metavar="S", help="Seconds after which a run is ended."
)
@click.option(
    "--wait", type=click.FloatRange(min=0), metavar="S",
    help="How long nodes are waited for that are not there: then it goes on without them.  [default: 6]",
)  # fmt: skip
@click.option("--allow-partial", is_flag=True, help="Exit code 0 also where nodes were away or missing.")
@network_option
@broker_option
@state_option
@history_options
@json_option
def command(
    once: bool,
    every: str | None,
    lasting: str | None,
    alarm: bool,
    anomalies: float | None,
    reveal: int,
    anew: bool,
    limit: float | None,
    wait: float | None,
    allow_partial: bool,
    network: Path | None,
    broker: str | None,
    state: Path | None,
    history: str | None,
    no_history: bool,
    output: Output,
    **given: Any,
) -> int:
    """Cluster what the nodes sense, once or again and again.

    Each clustering is about a window: every node makes its points out of its own readings of it, on the range that
    [stream] of network.toml names. It starts from the last centres, so it takes few steps; where a centre has moved far
    since, that is told. The window slides (--window); or with --half-life each reading counts once, and what was
    clustered before counts half as much after so long. A node that is away is left out, and joins the next one.
    Clusterings begin at whole multiples of the period, of which nodes with [sleep] deep = true are told, and wake for
    them. Where the stream was is kept in the state folder, and each
    outcome, as dcka run keeps it.

    With --once and --json one object is printed; otherwise with --json an object a line: window, held, clustering,
    drift, anomalies, anew, skipped, failed. Exit code 0: all were made, with everybody's readings in every step.
    """
    from dcka.anomalies import tail_ppm_of
    from dcka.streams.memory import Memory, keep, recall
    from dcka.streams.window import range_of

    if once and (every or lasting):
        raise UsageError("--once is one clustering: it has no --every and no --for")
    if reveal and anomalies is None:
        raise UsageError("--reveal goes with --anomalies: without them there is nothing to be revealed")
    config = configuration(network).replaced("stream", None, every=every, **given)
    range_of(config)
    folder = state_of(config, state)
    tail_ppm = None if anomalies is None else tail_ppm_of(anomalies)
    if anew:
        keep(folder, Memory(window=recall(folder).window))
    Kept(output, history, no_history)  # a place that is none is refused before anything is started
    way = Way(config, folder, broker, limit, wait, tail_ppm, reveal, output, history, no_history)
    if once:
        return _once(way, alarm, allow_partial)
    from dcka.cli.stream_period import again

    return again(way, lasting, alarm, allow_partial)


@dataclass
class Way:
    """How the clusterings of this call are made, and told of."""

    config: "Config"
    folder: "State"
    broker: str | None
    limit: float | None
    wait: float | None
    tail_ppm: int | None
    reveal: int
    output: Output
    history: str | None = None
    no_history: bool = False

    def make(self, tell: Callable[[str, Json], None]) -> "tuple[Clustering, Json]":
        """One clustering with its anomalies: (what it came to, the same as JSON). Raises as `Stream.cluster`."""
        from dcka.cli.run_view import RunView
        from dcka.mqtt.address import broker_of
        from dcka.mqtt.connection import Connection
        from dcka.mqtt.readiness import READY_S
        from dcka.streams.clustering import Stream
        from dcka.streams.summary import summary_of

        url = broker_of(self.config, self.folder, self.broker)
        with (
            Kept(self.output, self.history, self.no_history) as kept,
            Connection(url, self.config.network.name) as connection,
            RunView(self.output) as view,
        ):
            view.handlers["ended"] = kept.take

            def take(kind: str, data: Json) -> None:
                view.take(kind, data)
                if kind in ("window", "held", "anew"):
                    tell(kind, data)

            stream = Stream(
                connection, self.config, self.folder, ready_s=READY_S if self.wait is None else self.wait,
                limit_s=self.limit, on_event=take,
            )  # fmt: skip
            made = stream.cluster()
            record = dict(summary_of(made))
            if self.tail_ppm is not None and made.outcome.finished:
                record["anomalies"] = self._anomalies(stream, made, view)
        return made, record

    def _anomalies(self, stream: "Stream", made: "Clustering", view: "RunView") -> Json:
        from dcka.anomalies import NotFound, anomalies, text

        try:
            outcome = stream.anomalies(made, self.tail_ppm or 0, self.reveal, view.take)
        except NotFound as error:
            error.outcome.save(self.folder)
            raise
        found = anomalies(outcome, made.dataset)
        if not self.output.json_mode:
            self.output.say(text(found))
        return found.record()


def _once(way: Way, alarm: bool, allow_partial: bool) -> int:
    from dcka.cli.run_report import report
    from dcka.streams.summary import text

    def tell(kind: str, data: Json) -> None:
        if kind == "anew":
            way.output.say(f"note: the stream begins anew: {data['reason']}")

    made, record = way.make(tell)
    code = report(made.outcome, record, text(record), allow_partial, way.output)
    code = code or _left_out(made, allow_partial, way.output)
    return code or (DRIFTED if alarm and record["drift"] and record["drift"]["drifted"] else 0)


def _left_out(made: "Clustering", allow_partial: bool, output: Output) -> int:
    """The exit code for nodes that were away; who they were is said."""
    from dcka.mqtt.readiness import named

    without = [*made.part.away, *made.part.cut_off]
    if not without:
        return 0
    output.say(f"note: without {named(without)}; who comes back joins the next one")
    return 0 if allow_partial else DckaError.exit_code
