"""A run out of the history, in the parts in which the page has a run that it listens to (`dcka.monitor.story`)."""

from typing import Any

import numpy as np

from dcka.history import History, StoredRun, StoredStep
from dcka.monitor.events import clean
from dcka.monitor.story import Story
from dcka.mqtt.statuses import PayloadError

Json = dict[str, Any]

PAGE = 25
MOST_REASON = 400


def listed(history: History, network: str, before: int | None) -> Json:
    """`runs`: the next page of a network's, the newest first; `more`: the id to go on from, None at the end."""
    found = history.runs(network, limit=PAGE + 1, before=before)
    runs = [
        {
            "id": run.id,
            "number": run.number,
            "kind": run.kind,
            "k": run.k,
            "nodes": run.nodes,
            "data": clean(run.data, 60),
            "at": run.begun_at,
            "state": run.state,
            "steps": run.step_count,
            "ssd": run.ssd,
            "verdict": run.verdict,
        }
        for run in found[:PAGE]
    ]
    return {"runs": runs, "more": found[PAGE - 1].id if len(found) > PAGE else None}


def parts(run: StoredRun) -> Json:
    """All parts of a stored run by name, and its `verdict`. Raises PayloadError for a record that is none."""
    story = Story(run.run_record, run.network, run.begun_at, run.unseen)
    if run.dataset_record is not None:
        story.know_dataset(run.dataset_record)
    for node, record in run.rows.items():
        story.take_rows(node, record)
    for node, record in run.results.items():
        try:
            story.take_result(node, record, run.begun_at + (run.wall_s or 0.0))
        except PayloadError:
            story.progress.take_result(node, ())  # rebuilt from a commit: it has no figures
    found: Json = {}
    for step in run.steps:
        if step.ssd is not None:
            story.progress.ssd[step.step] = step.ssd
            found[f"step/{step.step}"] = _step(step)
        if step.centres is not None and run.kind in ("tree", "gossip"):
            found[f"centres/{step.step + 1}"] = _centres(run, step)
    head = story.part("run") or {}
    # When it ended nobody has stored but its host, which measured it.
    head["seconds"] = run.wall_s
    return {
        **{name: story.part(name) for name in story.parts if name.startswith(("rows/", "result/"))},
        **found,
        "run": head,
        "verdict": _verdict(run),
    }


def _step(step: StoredStep) -> Json:
    return {"ssd": step.ssd, "missing": list(step.missing), "moved": None, "slots": step.slots}


def _centres(run: StoredRun, step: StoredStep) -> Json:
    """On the grid again: the page has them so, and shows them in units."""
    told: dict[int, Any] = {**step.by_node}
    if not told:
        told[step.root or run.members[0]] = step.centres
    sets: list[list[int]] = []
    of: dict[str, int] = {}
    for node, centres in told.items():
        levels = np.asarray(centres)
        if run.grid is not None:
            levels = (levels - np.array(run.grid.offset)) / np.array(run.grid.steps)
        flat = np.rint(levels).astype(int).reshape(-1).tolist()
        if flat not in sets:
            sets.append(flat)
        of[str(node)] = sets.index(flat)
    return {"sets": sets, "of": of, "counts": None if step.counts is None else step.counts.tolist()}


def _verdict(run: StoredRun) -> Json | None:
    if run.verdict is None:
        return None
    reasons = (run.check or {}).get("reasons", [])
    return {
        "verdict": run.verdict,
        "reasons": [clean(reason, MOST_REASON) for reason in reasons],
        "reference": None,
    }
