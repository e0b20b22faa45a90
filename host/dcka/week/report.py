"""What a simulated week came to: whole numbers and shares that hang on its settings alone."""

from collections import Counter
from typing import TYPE_CHECKING, Any

from dcka.week.judge import EXACT, PARTIAL, UNFINISHED, WRONG

if TYPE_CHECKING:
    from dcka.week.course import Course

Json = dict[str, Any]
_EVER = -(2**31) + 1, 2**31 - 1
_SHOWN = 5


def report(course: "Course", interrupted: bool) -> Json:
    """The record of `dcka bench week --json`; docs/week.md has the keys. No time of this computer is in it."""
    host, witness, feed = course.host, course.witness, course.feed
    verdicts = Counter(one.verdict for one in host.clusterings)
    lost = {node: _lost(course, node) for node in feed.ids}
    charges = {node: board.spent_mah for node, board in course.boards.items()}
    worst = max(charges, key=lambda node: (charges[node], -node))
    wrong = [one for one in host.clusterings if one.verdict == WRONG]
    counts = course.air.counts
    finished = [one for one in host.clusterings if one.steps]
    return {
        "days": course.timeline.now_s / 86_400,
        "nodes": len(feed.ids),
        "data": feed.name,
        "seed": course.settings.seed,
        "clusterings": len(host.clusterings),
        "exact": verdicts[EXACT],
        "partial": verdicts[PARTIAL],
        "unfinished": verdicts[UNFINISHED],
        "results_wrong": verdicts[WRONG],
        "short_of_nodes": sum(len(one.members) < len(feed.ids) for one in host.clusterings),
        "mean_members": _mean([len(one.members) for one in host.clusterings]),
        "mean_steps": _mean([one.steps for one in finished]),
        "mean_points": _mean([one.points for one in finished]),
        "readings_taken": witness.taken,
        "readings_kept": witness.kept,
        "readings_lost": sum(lost.values()) + witness.forgotten_readings,
        "readings_cut": witness.cut_off,
        "readings_skipped": sum(board.skipped for board in course.boards.values()),
        "worst_node": worst,
        "worst_node_mah": charges[worst],
        "mean_node_mah": _mean(list(charges.values())),
        "battery_mah": course.settings.battery_mah,
        "updates_done": 0 if host.updater is None else host.updater.joined(),
        "rollbacks": sum(board.versions.rolled_back for board in course.boards.values()),
        "updates": [] if host.updater is None else host.updater.record(),
        "failures": dict(sorted(Counter(one.kind for one in course.failed).items())),
        "dead": sorted(course.dead),
        "crashes": len(witness.crashes),
        "first_crashes": [f"node {node}: {what}" for node, what in witness.crashes[:_SHOWN]],
        "radio": {"deliveries": counts.deliveries, "lost": counts.lost, "doubled": counts.doubled,
                  "overtaken": counts.overtaken},
        "by_node": {str(node): _of_node(course, node, lost[node]) for node in feed.ids},
        "wrong": [f"clustering {one.number}: {one.reason}" for one in wrong[:_SHOWN]],
        "interrupted": interrupted,
        "ok": not verdicts[WRONG] and not sum(lost.values()) and not witness.forgotten_readings
        and not witness.crashes,
    }  # fmt: skip


def _lost(course: "Course", node: int) -> int:
    """Readings that were on flash and are not there now, as a store that is opened anew reads it."""
    segments = course.world.open_segments(course.boards[node].files)
    stored = ((row[0], tuple(row[1:])) for row in segments.readings(*_EVER))
    return course.witness.lost(node, stored)


def _of_node(course: "Course", node: int, lost: int) -> Json:
    board = course.boards[node]
    meter = board.meter
    return {
        "mah": board.spent_mah,
        "radio_s": meter.radio_ms / 1000,
        "awake_s": (meter.radio_ms + meter.bare_ms) / 1000,
        "off_s": meter.off_ms / 1000,
        "associations": meter.associations,
        "wakes": meter.wakes,
        "clusterings": sum(node in one.members for one in course.host.clusterings),
        "lost": lost,
        "flash_bytes": board.files.written_bytes,
    }


def _mean(values: "list[int] | list[float]") -> float:
    return sum(values) / len(values) if values else 0.0


def text(record: Json) -> str:
    """The same for a person."""
    days, c = record["days"], record["clusterings"]
    lines = [
        f"{days:.3g} days of {record['nodes']} nodes ({record['data']}): {c} clusterings, {record['exact']} exact, "
        f"{record['partial']} partial, {record['unfinished']} unfinished, {record['results_wrong']} wrong",
        f"on average {record['mean_members']:.1f} nodes, {record['mean_points']:.0f} points, "
        f"{record['mean_steps']:.1f} steps",
        f"{record['readings_taken']:,} readings taken, {record['readings_kept']:,} on flash, "
        f"{record['readings_lost']} of these lost; {record['readings_cut']} went with the power before they were there",
        f"modelled charge: node {record['worst_node']}, the worst, {record['worst_node_mah']:.1f} mAh; "
        f"{record['mean_node_mah']:.1f} on average",
        f"over the air: {record['updates_done']} nodes joined with a new version, {record['rollbacks']} went back",
        "what failed: "
        + (", ".join(f"{count} × {kind}" for kind, count in record["failures"].items()) or "nothing"),
        *record["wrong"],
        *record["first_crashes"],
    ]
    if record["interrupted"]:
        lines.append("it was ended early; this is what was had")
    return "\n".join(lines)
