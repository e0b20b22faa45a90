"""A run in a few numbers, in the user's units."""

from collections.abc import Mapping
from typing import Any

from dcka.inject.dataset import grid_of
from dcka.inject.quantise import Grid
from dcka.mqtt.readiness import named
from dcka.runs.ledgers import from_boards, ledgers, worst_node
from dcka.runs.outcome import Outcome, decode_commit


def summary(outcome: Outcome, dataset_record: Mapping[str, Any]) -> dict[str, Any]:
    """What a run came to, on the grid of its data set's record.

    `ssd`: the network's, None where the run did not finish. In `tree` it belongs to the centres before the last
    update, which are the final ones in a run that converged; in `gossip` to the nodes' final centres. `centres`,
    `counts`: of the last commit of the lowest id that has made one, else None. `missing`: whose readings are not in
    every step, and who gave no result. `quarantined`: by id who did not keep to the rules, by which of its neighbours'
    word, and why. `broadcasts`, `payload_bytes`:
    consensus messages of all nodes; `heap_bytes`: live, of the largest node; None where no node has told. `ledger`:
    by id what each has counted, with its modelled charge (docs/energy.md); of the largest of these are `worst_node` and
    `worst_node_mah`. `board_times`: whether the times in it are those of boards, and not of a desktop. `awake_share`:
    of a run in slots, on average over the nodes.
    """
    grid = grid_of(dataset_record)
    results = list(outcome.results.values())
    told = [result for result in results if not result.get("rebuilt")]
    counted = ledgers(outcome)
    worst = worst_node(counted)
    source = min(outcome.commits, default=None)
    commit = None if source is None else decode_commit(outcome, source)
    struck = outcome.quarantined
    shares = [entry.awake_share for entry in counted.values() if entry.asleep_ms is not None]
    return {
        "run": outcome.run,
        "kind": outcome.kind,
        "nodes": len(outcome.members),
        "finished": outcome.finished,
        "converged": outcome.finished and all(result["converged"] for result in results),
        "steps": max((result["steps"] for result in results), default=0 if commit is None else commit.step),
        "slots": max((result["slots"] for result in told), default=None),
        "ssd": _ssd(outcome, grid),
        "scale": grid.scale,
        "broadcasts": sum(result["sent"] for result in told) if told else None,
        "payload_bytes": sum(result["bytes"] for result in told) if told else None,
        "wall_s": outcome.wall_s,
        "heap_bytes": max((result["heap"] for result in told), default=None),
        "ledger": {str(node): entry.record() for node, entry in counted.items()},
        "worst_node": worst,
        "worst_node_mah": None if worst is None else counted[worst].mah,
        "board_times": from_boards(outcome),
        **({"awake_share": sum(shares) / len(shares)} if shares else {}),
        "dataset": outcome.dataset,
        "columns": list(dataset_record["columns"]),
        "centres": None if commit is None else _table(commit.centres, grid),
        "counts": None if commit is None else list(commit.counts),
        "empty": None if commit is None else commit.counts.count(0),
        "missing": outcome.missing,
        "quarantined": {
            str(node): {str(by): why for by, why in said.items()} for node, said in struck.items()
        },
        "waiting": outcome.waiting,
        "reason": outcome.reason,
        "rejected": outcome.rejected,
    }


def text(record: Mapping[str, Any]) -> str:
    """The summary for a person: a headline, the costs, and a table of the centres."""
    lines = [_headline(record)]
    lines += [struck_words(int(node), said) for node, said in record["quarantined"].items()]
    if record["broadcasts"] is not None:
        slots = f" in {record['slots']:,} slots" if record["slots"] else ""
        lines.append(
            f"{record['broadcasts']:,} broadcasts{slots}, {record['payload_bytes']:,} bytes of payload, "
            f"{record['heap_bytes']:,} bytes of heap at the largest node"
        )
    if "awake_share" in record:
        lines.append(f"awake for {record['awake_share']:.0%} of the run, on average over the nodes")
    if record["worst_node"] is not None:
        lines.append(charge(record))
    if record["centres"] is not None:
        lines += ["", *_centre_lines(record)]
    if record["empty"]:
        lines.append(f"clusters without points, which keep their place: {record['empty']}")
    return "\n".join(lines)


def struck_words(node: int, said: Mapping[Any, str]) -> str:
    """`node 3 is in quarantine at nodes 1 and 2 (sums)`: whose messages its neighbours take no more, and why."""
    return f"node {node} is in quarantine at {named(int(by) for by in said)} ({', '.join(sorted(set(said.values())))})"


def charge(record: Mapping[str, Any]) -> str:
    """The modelled charge of a summary whose nodes have counted, and what it can't know."""
    said = f"modelled charge of the run: {record['worst_node_mah']:.4f} mAh at node {record['worst_node']}, the worst"
    if record["board_times"]:
        return said
    return f"{said}, if an ESP32 took as long as this desktop, which it does not"


def _headline(record: Mapping[str, Any]) -> str:
    what = f"run {record['run']} ({record['kind']}, {record['nodes']} nodes)"
    if not record["finished"]:
        return f"{what} did not finish; it got to step {record['steps']}: {record['reason']}"
    ended = "converged" if record["converged"] else "ended without converging"
    steps = "1 step" if record["steps"] == 1 else f"{record['steps']} steps"
    without = f", without {named(record['missing'])} in all of it or a part" if record["missing"] else ""
    scaled = "" if record["scale"] == "one" else f" in widths of the columns (scale {record['scale']})"
    return (
        f"{what} {ended} after {steps} in {record['wall_s']:.2f} s: SSD {record['ssd']:.6g}{scaled}{without}"
    )


def _centre_lines(record: Mapping[str, Any]) -> list[str]:
    head = ["cluster", "points", *record["columns"]]
    rows = [
        [str(cluster), f"{count:,}", *(f"{value:.5g}" for value in centre)]
        for cluster, (count, centre) in enumerate(zip(record["counts"], record["centres"], strict=True))
    ]
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    return [
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in [head, *rows]
    ]


def _ssd(outcome: Outcome, grid: Grid) -> float | None:
    """In the square of the grid's unit: the user's, where one step holds for all dimensions."""
    parts: list[int] = [result["ssd"] for result in outcome.results.values()]
    if not outcome.finished or not parts:
        return None
    return (sum(parts) if outcome.kind == "gossip" else max(parts)) * grid.unit**2


def _table(centres: list[int], grid: Grid) -> list[list[float]]:
    dimensions = len(grid.offset)
    rows = [centres[at : at + dimensions] for at in range(0, len(centres), dimensions)]
    table: list[list[float]] = grid.to_units(rows).tolist()
    return table
