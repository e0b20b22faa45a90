"""The two data sets that come with the program."""

import gzip
import hashlib
from importlib.resources import files

import numpy as np
import pytest

from dcka.datasets import gaussians, suthaharan
from dcka.datasets.nine_gaussians import MEANS
from dcka.inject.errors import DataError


def test_nine_gaussians_are_those_of_the_paper():
    found = gaussians(1)
    assert (found.node_ids, found.size, found.columns) == ((1, 2, 3, 4, 5), 4500, ("x", "y"))
    assert {len(points) for points in found.points.values()} == {900}
    every = np.concatenate(list(found.values.values()))
    labels = np.concatenate(list(found.labels.values()))
    assert len(set(MEANS)) == 9
    for index, mean in enumerate(MEANS):
        own = every[labels == str(index)]
        assert len(own) == 500
        assert np.abs(own.mean(axis=0) - mean).max() < 4 * 0.8 / np.sqrt(500)
        assert np.abs(np.cov(own.T) - 0.64 * np.eye(2)).max() < 0.2
    assert {node: set(own.tolist()) for node, own in found.labels.items()} == {
        node: set("012345678") for node in found.node_ids
    }


def test_a_seed_is_a_data_set_and_the_nodes_differ():
    assert gaussians(7).record() == gaussians(7).record()
    assert gaussians(7).id != gaussians(8).id
    found = gaussians(7)
    assert not np.array_equal(found.values[1], found.values[2])
    # numpy keeps this stream frozen: another value would be another experiment under the same seed.
    assert found.values[1][0] == pytest.approx((0.7870418385035025, -1.146237049060676), abs=1e-12)


def test_sizes_can_be_chosen_and_have_to_make_sense():
    small = gaussians(0, nodes=2, per_gaussian=3)
    assert [len(points) for points in small.points.values()] == [27, 27]
    for wrong in ({"seed": -1}, {"seed": 0, "nodes": 0}, {"seed": 0, "per_gaussian": 0}):
        with pytest.raises(DataError):
            gaussians(**wrong)


def test_each_node_holds_the_readings_of_its_own_mote():
    found = suthaharan()
    assert found.groups == {1: "1", 2: "2", 3: "3", 4: "4"}
    assert [len(found.points[node]) for node in found.node_ids] == [4417, 4417, 5039, 5041]
    assert found.columns == ("humidity", "temperature")
    assert found.values[1][0].tolist() == [45.93, 27.97]
    assert found.values[4][-1].tolist() == [46.72, 23.05]
    events = {node: int((labels == "event").sum()) for node, labels in found.labels.items()}
    assert events == {1: 117, 2: 0, 3: 0, 4: 32}
    assert {label for labels in found.labels.values() for label in labels.tolist()} == {"normal", "event"}
    assert (found.clipped, found.grid.constant, found.report.warnings) == ((0, 0), (), ())


def test_the_shipped_file_is_the_published_one(shared_data):
    shipped = files("dcka.datasets").joinpath("suthaharan.csv.gz").read_bytes()
    assert gzip.decompress(shipped) == gzip.decompress(
        (shared_data / "suthaharan_singlehop.csv.gz").read_bytes()
    )


def test_the_shipped_file_is_unchanged_and_attributed():
    folder = files("dcka.datasets")
    content = gzip.decompress(folder.joinpath("suthaharan.csv.gz").read_bytes())
    assert hashlib.sha256(content).hexdigest() == (
        "d9e373a2b95eb5ed9eacd242ab4f0f4ef86c98bb1d766750eb0d6e60290ecf17"
    )
    attribution = folder.joinpath("ATTRIBUTION.md").read_text(encoding="utf-8")
    authors = ("Suthaharan", "Alzahrani", "Rajasegarar", "Leckie", "Palaniswami")
    for word in (*authors, "2010", "CC BY 4.0", "ODC-BY"):
        assert word in attribution
