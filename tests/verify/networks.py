"""The networks that are searched: a few nodes with one or two readings each, so that every sum is another."""

from laws import Laws
from plain_kmeans import tuples
from scenes import Scene, radio, shortest_tree
from search import Bounds, Search
from searched import Machines, Weak

SHAPES = {
    "pair": [(1, 2)],
    "line of 3": [(1, 2), (2, 3)],
    "triangle": [(1, 2), (2, 3), (1, 3)],
    "line of 4": [(1, 2), (2, 3), (3, 4)],
    "star of 4": [(1, 2), (1, 3), (1, 4)],
    "ring of 4": [(1, 2), (2, 3), (3, 4), (1, 4)],
    "diamond": [(1, 2), (1, 3), (2, 4), (3, 4), (2, 3)],
}
# Whichever two nodes or more contribute, the first step's centres are others; with all, no run ends within three steps.
READINGS = {1: [9, 27], 2: [18, 38], 3: [30, 89], 4: [3, 63]}
START = [2, 12]
# So that what has changed of a commit takes fewer bytes than all of it: changes are sent where they are shorter.
LARGE = 300


def search(
    shape: str,
    steps: int,
    bounds: Bounds,
    root: int = 1,
    runs: int = 1,
    weak: Weak | None = None,
    whole: bool = True,
    readings: dict[int, list[int]] = READINGS,
) -> Search:
    """A search of runs of so many steps in a network of this shape.

    whole: nodes that always speak in full, for which far fewer states differ. readings: by node.
    """
    near = radio(SHAPES[shape])
    scale = 1 if whole else LARGE
    start = [scale * value for value in START]
    scene = Scene(
        {}, shortest_tree(near, root), near=near, n=1, k=2, init="given", centres=start, max_steps=steps
    )
    scene.data = {node: [scale * value for value in readings[node]] for node in near}
    points = {node: scene.points(node) for node in near}
    records = {run: scene.record(run) for run in range(1, runs + 1)}
    rows = {run: scene.rows(run) for run in records}
    members = records[1]["members"]
    data = [tuples(scene.data[node], 1) for node in members]
    laws = Laws(members, data, tuples(start, 1), dict.fromkeys(records, steps))
    return Search(Machines(points, records, rows, weak, whole, laws), near, bounds)
