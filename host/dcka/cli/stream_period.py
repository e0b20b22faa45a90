"""`dcka stream` on a period: one clustering after the other, and what came of each, told as it happens."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from dcka.cli.output import Output
from dcka.cli.until import told_to_end
from dcka.errors import DckaError, UsageError

if TYPE_CHECKING:
    from dcka.cli.stream import Way
    from dcka.runs.pace import Paced

Json = dict[str, Any]

DRIFTED = 3
"""The exit code that --alarm gives a drift."""
LOOK_S = 0.2


def again(way: "Way", lasting: str | None, alarm: bool, allow_partial: bool) -> int:
    """Make one clustering a period until the end, in `lasting` or when told to; the exit code of all of them."""
    from dcka.config.checks import Unfit
    from dcka.config.durations import seconds

    try:
        lasting_s = None if lasting is None else seconds(lasting)
    except Unfit:
        raise UsageError(f'--for {lasting}: it must be a time such as "90s", "30m", "24h" or "7d"') from None
    told = _Told(way.output)
    with told_to_end() as ended:
        (_on_pace if way.config.sleep.deep else _by_itself)(way, lasting_s, told, ended)
    return told.code(alarm, allow_partial)


def _by_itself(way: "Way", lasting_s: int | None, told: "_Told", ended: Callable[[], bool]) -> None:
    """Nodes are there all the time: the first clustering is made at once, and one that failed tried again soon."""
    from dcka.config.durations import in_words
    from dcka.streams.memory import recall
    from dcka.streams.pace import Pace
    from dcka.streams.window import EPOCH_S

    def now_s() -> int:
        return int(time.time()) - EPOCH_S

    pace = Pace(way.config.stream.every, None if lasting_s is None else now_s() + lasting_s)
    way.output.say(f"a clustering every {in_words(pace.every_s)}; Ctrl-C ends it")
    due = pace.first(now_s(), recall(way.folder).until)
    while not ended() and not pace.is_over(due):
        if now_s() < due:
            time.sleep(LOOK_S)
            continue
        due = pace.following(now_s()) if told.one(way) else pace.again(now_s())


def _on_pace(way: "Way", lasting_s: int | None, told: "_Told", ended: Callable[[], bool]) -> None:
    """Nodes sleep deeply: they are told when clusterings begin, and sleep until the next as soon as one is over."""
    from dcka.config.durations import in_words
    from dcka.mqtt.address import broker_of
    from dcka.mqtt.connection import Connection
    from dcka.runs.pace import next_start, pace_of, paced, published

    every_s = way.config.stream.every
    # Counted from the first multiple that there is: after a restart the same clustering has the same number.
    pace = pace_of(every_s, every_s, way.config.sleep.awake_s)
    url, name = broker_of(way.config, way.folder, way.broker), way.config.network.name
    with Connection(url, name) as connection:
        known = published(connection)
    if known is not None and (known.every_s, known.at) == (pace.every_s, pace.at):
        pace.done = known.done
    now = time.time()
    end = None if lasting_s is None else now + lasting_s
    number, due = next_start(pace, now)
    if end is not None and due >= end:
        raise UsageError(
            f"--for {in_words(lasting_s or 0)}: nodes that sleep deeply wake for the next clustering in "
            f"{due - now:.0f} s; take a longer time, or --once with those who are awake"
        )
    with paced(url, name, pace) as network:
        begins = datetime.fromtimestamp(due, UTC).strftime("%H:%M:%S")
        way.output.say(
            f"a clustering every {in_words(every_s)}, the next at {begins} UTC; nodes sleep till then; Ctrl-C ends it"
        )
        while not ended() and (end is None or due < end):
            if time.time() < due:
                time.sleep(LOOK_S)
                continue
            try:
                told.one(way)
            finally:
                _let_sleep(network, number, way.output)
            number, due = network.next()
    way.output.say("the pace stays: nodes wake for it, until dcka pace --off")


def _let_sleep(network: "Paced", number: int, output: Output) -> None:
    """Clustering `number` is over. Where the broker is away, nodes wait as long as they would for one that is late."""
    from dcka.mqtt.connection import ConnectionLost

    try:
        network.finished(number)
    except ConnectionLost as error:
        output.warn(f"nodes could not be told that the clustering is over, and stay awake longer: {error}")


class _Told:
    """What the clusterings of a period came to, told as it happens."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._made = self._failed = self._partial = self._drifted = 0

    def one(self, way: "Way") -> bool:
        """Make one, and tell of it; False where it failed and may be tried again."""
        from dcka.streams.clustering import Skipped
        from dcka.streams.summary import text

        try:
            made, record = way.make(self._event)
        except Skipped as error:
            self._event("skipped", {"reason": str(error)})
            return True
        except DckaError as error:
            if isinstance(error, UsageError) and not self._made:
                raise
            # Later it is an embedded broker that is away, say, and comes back.
            self._failed += 1
            self._event("failed", {"reason": str(error)})
            return False
        self._made += 1
        found = record.pop("anomalies", None)
        self._partial += not made.whole
        self._failed += not made.outcome.finished
        self._event("clustering", record, text(record))
        if record["drift"] and record["drift"]["drifted"]:
            self._drifted += 1
            self._event("drift", {"run": record["run"], **record["drift"]})
        if found is not None:
            self._event("anomalies", found)
        return made.outcome.finished

    def code(self, alarm: bool, allow_partial: bool) -> int:
        """The exit code of all of them."""
        if self._failed or (self._partial and not allow_partial):
            return DckaError.exit_code
        return DRIFTED if alarm and self._drifted else 0

    def _event(self, kind: str, data: Json, words: str | None = None) -> None:
        if self._output.json_mode:
            self._output.line({"event": kind, **data})
        elif kind == "clustering":
            self._output.line(data, words)
        elif kind in ("skipped", "failed"):
            (self._output.warn if kind == "failed" else self._output.say)(f"{kind}: {data['reason']}")
        elif kind == "anew":
            self._output.say(f"note: the stream begins anew: {data['reason']}")
