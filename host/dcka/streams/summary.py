"""A clustering of a stream in a few numbers, and in a line for people."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from dcka.mqtt.readiness import named
from dcka.runs.summary import summary
from dcka.streams.clustering import Clustering
from dcka.streams.window import EPOCH_S


def summary_of(made: Clustering) -> Mapping[str, Any]:
    """What a clustering came to, as JSON: `dcka.runs.summary` and, of the stream, `window`, `since`, `until` (seconds
    since 2020), `points`, `away`, `cut_off`, `empty`, `clipped`, `drift` (null for the first).
    """
    rows = {int(node): entry["rows"] for node, entry in made.dataset["nodes"].items()}
    return {
        **summary(made.outcome, made.dataset),
        "window": made.window.number,
        "since": made.window.since,
        "until": made.window.until,
        "points": sum(rows.values()),
        "points_by_node": {str(node): count for node, count in rows.items()},
        "away": list(made.part.away),
        "cut_off": list(made.part.cut_off),
        "empty_nodes": list(made.empty),
        "clipped": made.dataset["clipped"],
        "warm": made.drift is not None,
        "prior": made.outcome.record.get("prior"),
        "drift": None if made.drift is None else made.drift.record(),
        "partial": not made.whole,
    }


def text(record: Mapping[str, Any]) -> str:
    """What a person wants to know of it first."""
    lines = [_headline(record)]
    for name, words in (("away", "did not hold the window"), ("cut_off", "had no way to the others")):
        if record[name]:
            lines.append(f"  {named(record[name])} {words}")
    if record["empty_nodes"]:
        lines.append(f"  {named(record['empty_nodes'])} had no reading in it")
    clipped = {
        name: count for name, count in zip(record["columns"], record["clipped"], strict=False) if count
    }
    if clipped:
        counts = ", ".join(f"{name} {count:,}" for name, count in clipped.items())
        lines.append(f"  clipped, since they lie outside the range of [stream]: {counts}")
    drift = record["drift"]
    for moved in drift["centres"] if drift else ():
        places = [", ".join(f"{value:.5g}" for value in moved[end]) for end in ("from", "to")]
        lines.append(
            f"  drift: centre {moved['centre']} has moved by {moved['moved']:.1%} of the range, from ({places[0]}) to "
            f"({places[1]})"
        )
    return "\n".join(lines)


def when(seconds: int) -> str:
    """Seconds since 2020 as UTC."""
    return datetime.fromtimestamp(seconds + EPOCH_S, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _headline(record: Mapping[str, Any]) -> str:
    until = when(record["until"])
    what = f"window {record['window']} to {until} UTC, run {record['run']}: {record['points']:,} readings"
    if not record["finished"]:
        return f"{what}, did not finish: {record['reason']}"
    without = f", without {named(record['missing'])} in all of it or a part" if record["missing"] else ""
    moved = (
        ""
        if record["drift"] is None
        else f", centres moved by up to {record['drift']['farthest']:.2%} of the range"
    )
    ended = "converged" if record["converged"] else "ended without converging"
    return f"{what}, {ended} after {record['steps']} steps, SSD {record['ssd']:.6g}{moved}{without}"
