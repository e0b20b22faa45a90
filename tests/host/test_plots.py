"""Pictures: what is chosen to be drawn, and that whatever can be drawn is a PNG of a fitting size."""

import struct

import numpy as np
import pytest

from dcka.check import Verdict
from dcka.config import StateError
from dcka.inject.dataset import from_values
from dcka.plots import Panel, draw_run, panel
from dcka.plots.scene import MOST_GROUPS, MOST_POINTS, scene


def dataset(nodes=3, rows=50, scale=(1.0, 1.0), labels=None):
    stream = np.random.default_rng(3)
    values = {node: stream.normal(size=(rows, len(scale))) * scale for node in range(1, nodes + 1)}
    columns = [f"c{j}" for j in range(len(scale))]
    named = None if labels is None else {node: np.resize(np.array(labels), rows) for node in values}
    return from_values("some", columns, values, labels=named)


def panels(data, count=1):
    centres = np.zeros((2, len(data.columns)))
    centres[1] = 1.0
    return [Panel("tree", "SSD 1, PASS", True, dict.fromkeys(data.node_ids, centres), centres)] * count


def size(path) -> tuple[int, int]:
    """Width and height, as the PNG's header has them."""
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    return struct.unpack(">II", content[16:24])


@pytest.mark.parametrize("scale", [(1.0,), (1.0, 2.0), (1.0, 1e6), (0.0, 0.0), (1.0, 5.0, 9.0, 2.0)])
@pytest.mark.parametrize("nodes", [1, 5, 20])
def test_every_shape_of_data_is_drawn(tmp_path, scale, nodes):
    data = dataset(nodes, 20, scale)
    path = draw_run(data, panels(data), tmp_path / "run.png", title="some")
    width, height = size(path)
    assert 600 < width < 2000 and 400 < height < 2000


def test_two_panels_are_wider_than_one(tmp_path):
    data = dataset()
    one = size(draw_run(data, panels(data), tmp_path / "one.png"))
    two = size(draw_run(data, panels(data, 2), tmp_path / "two.png"))
    assert two[0] > 1.3 * one[0]


def test_different_centres_are_different_pictures_and_the_same_the_same(tmp_path):
    data = dataset()
    moved = panels(data)[0]
    moved = Panel(moved.title, moved.caption, True, {1: np.full((2, 2), 0.5)}, moved.reference)
    first = draw_run(data, panels(data), tmp_path / "a.png").read_bytes()
    assert draw_run(data, panels(data), tmp_path / "b.png").read_bytes() == first
    assert draw_run(data, [moved], tmp_path / "c.png").read_bytes() != first


def test_a_run_without_centres_and_without_a_reference_is_drawn(tmp_path):
    data = dataset()
    size(draw_run(data, [Panel("tree", "FAIL", False, {}, None)], tmp_path / "run.png"))


def test_where_it_cannot_be_written_it_says_so(tmp_path):
    data = dataset()
    with pytest.raises(StateError, match=r"nowhere.*run\.png"):
        draw_run(data, panels(data), tmp_path / "nowhere" / "run.png")


def test_the_dimensions_of_largest_spread_are_the_axes():
    chosen = scene(dataset(scale=(1.0, 5.0, 2.0, 9.0)), {"c3": "mm"})
    assert chosen.axes == (1, 3)
    assert chosen.labels == ("c1", "c3 (mm)")
    assert chosen.dimensions == 4


def test_many_points_are_thinned_and_few_of_a_label_are_kept():
    labels = ["often"] * 1999 + ["seldom"]
    chosen = scene(dataset(4, 4000, labels=labels))
    assert chosen.by == "label"
    counts = {name: len(readings) for name, readings in chosen.groups}
    assert counts["seldom"] == 8
    assert chosen.shown == sum(counts.values()) <= MOST_POINTS < chosen.size == 16_000
    assert [name for name, _ in chosen.groups] == ["often", "seldom"]


def test_with_one_label_or_too_many_points_are_grouped_by_node():
    assert scene(dataset(labels=["same"])).by == "node"
    many = [str(number) for number in range(MOST_GROUPS + 1)]
    assert [name for name, _ in scene(dataset(labels=many)).groups] == ["node 1", "node 2", "node 3"]
    assert scene(dataset(labels=many[:-1])).by == "label"


def test_the_caption_has_the_ssd_and_the_verdict():
    exact = Verdict("tree", True, [], {"ssd": 5025.645, "bit_identical": True})
    assert panel(exact, "tree").caption == "SSD 5025.65, every node bit for bit the reference, PASS"
    near = Verdict("gossip", True, [], {"ssd": 12.0, "max_error": 0.0002, "tolerance": 0.0013})
    assert panel(near, "gossip").caption == "SSD 12, largest error 0.0002 of 0.001 allowed, PASS"
    none = Verdict("tree", False, [], {"ssd": None, "bit_identical": False})
    assert panel(none, "tree").caption == "FAIL"
