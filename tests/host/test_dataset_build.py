"""From a table to every node's share, the record that goes with it, and back from a folder."""

import json

import numpy as np
import pytest

from dcka.inject import data_file
from dcka.inject.csv_reader import read_csv
from dcka.inject.dataset import Dataset, build, from_values, grid_of
from dcka.inject.errors import DataError

THREE_POINTS = "x,y\n" + "0,0\n10,0\n0,10\n" * 4


@pytest.fixture
def table(tmp_path):
    """Write a text to a file, and read it."""

    def read(text, **options):
        path = tmp_path / "garden.csv"
        path.write_text(text)
        return read_csv(path, **options)

    return read


def test_shares_hold_the_readings_and_the_labels_of_their_rows(table):
    found = build(
        table("m,t,h,k\nb,1,10,x\na,2,20,y\nb,3,30,z\n", split_by="m", label="k"), [1, 2, 3], range=None
    )
    assert (found.name, found.columns, found.node_ids, found.size) == ("garden", ("t", "h"), (1, 2, 3), 3)
    assert found.groups == {1: "b", 2: "a"}
    assert found.values[1].tolist() == [[1, 10], [3, 30]]
    assert found.labels[1].tolist() == ["x", "z"] and found.labels[3].tolist() == []
    for node in found.node_ids:
        assert np.abs(found.grid.to_units(found.points[node]) - found.values[node]).max(initial=0) <= (
            found.grid.step / 2 * 1.000001
        )


def test_a_node_without_rows_has_an_empty_share_and_a_file(table):
    found = build(table("x,y\n" + "".join(f"{i},{i * i}\n" for i in range(7))), range_of(8))
    assert [len(found.points[node]) for node in found.node_ids] == [1] * 7 + [0]
    assert sum(node["rows"] for node in found.record()["nodes"].values()) == 7
    assert data_file.decode(found.data_file(8)).points.shape == (0, 2)
    with pytest.raises(DataError, match="K = 8 is more than the 7 points"):
        found.check_k(8)


def range_of(count):
    return list(range(1, count + 1))


def test_k_is_held_against_the_distinct_points(table):
    found = build(table(THREE_POINTS), range_of(4))
    assert found.distinct_points() == 3
    found.check_k(3)
    with pytest.raises(DataError, match=r"K = 5 is more than the 3 distinct points of garden \(12 in all\)"):
        found.check_k(5)
    for k in (0, -2):
        with pytest.raises(DataError, match=f"K = {k}: a clustering needs at least 1"):
            found.check_k(k)


def test_the_record_is_json_and_gives_the_floats_back_to_the_bit(table):
    found = build(table("t,h\n0.1,0.2\n0.30000000000000004,1e-7\n"), [2, 1])
    record = json.loads(json.dumps(found.record()))
    assert grid_of(record) == found.grid
    keys = "v dataset name columns offset step bits n extents nodes clipped constant dropped"
    assert set(record) == set(keys.split())
    assert all(isinstance(text, str) for text in [*record["offset"], record["step"]])
    assert record["dataset"] == found.id.hex() == data_file.decode(found.data_file(1)).dataset_id.hex()
    for node in (1, 2):
        data_file.verify(found.data_file(node), record["nodes"][str(node)]["sha256"])


def test_what_was_dropped_clipped_and_constant_is_in_the_record(table):
    read = table("t,h\n1,5\n2,\n300,5\n", missing="drop")
    record = build(read, [1], range=[(0, 100), (0, 100)]).record()
    assert (record["dropped"], record["clipped"], record["constant"]) == (1, [1, 0], ["h"])


def test_warnings_of_file_grid_and_split_are_all_in_the_report(table):
    text = "m,v,w\n" + "".join(f"{i % 2 + 2},{3 + i / 1000},{i * 7000}\n" for i in range(100))
    found = build(table(text, split_by="m"), [1, 2])
    joined = " ".join(found.report.warnings)
    assert "in order of appearance" in joined and 'column "v": 100 distinct readings fall on' in joined


@pytest.mark.parametrize("labelled", [True, False])
def test_a_saved_data_set_comes_back_whole(table, tmp_path, labelled):
    read = table(
        "m,t,k\na,1.1,é\nb,2.2,y\na,,z\n", split_by="m", label="k" if labelled else None, missing="drop"
    )
    found = build(read, [4, 2, 9])
    found.save(tmp_path / "deep" / "kept")
    back = Dataset.load(tmp_path / "deep" / "kept")
    assert back.record() == found.record()
    assert (back.report, back.groups, back.grid, back.node_ids) == (
        found.report,
        found.groups,
        found.grid,
        (4, 2, 9),
    )
    for node in found.node_ids:
        assert back.points[node].tolist() == found.points[node].tolist()
        assert back.values[node].tolist() == found.values[node].tolist()
        if labelled:
            assert back.labels[node].tolist() == found.labels[node].tolist()
    assert (back.labels is None) == (not labelled)


def small(offset):
    return from_values("small", ["t"], {1: np.array([[offset], [offset + 1.0]]), 2: np.zeros((0, 1))})


def test_saving_again_replaces_and_leaves_nothing_behind(tmp_path):
    small(1.0).save(tmp_path)
    small(2.0).save(tmp_path)
    assert Dataset.load(tmp_path).grid.offset == (2.0,)
    assert len(list(tmp_path.iterdir())) == 2


def test_a_save_that_is_cut_short_leaves_the_old_one_whole(tmp_path, monkeypatch):
    small(1.0).save(tmp_path)
    before = small(1.0).record()

    def no_space(self, target):
        raise OSError(28, "No space left on device")

    for writes in (0, 1):  # the arrays fail; the arrays are there and the record fails
        with monkeypatch.context() as patch:
            calls = []
            real = type(tmp_path).replace

            def replace(self, target, calls=calls, real=real, writes=writes):
                calls.append(target)
                return real(self, target) if len(calls) <= writes else no_space(self, target)

            patch.setattr(type(tmp_path), "replace", replace)
            with pytest.raises(DataError, match=r"cannot be kept in .*No space left"):
                small(2.0).save(tmp_path)
        assert Dataset.load(tmp_path).record() == before
    small(3.0).save(tmp_path)
    assert Dataset.load(tmp_path).grid.offset == (3.0,)


def test_no_data_set_says_how_to_make_one(tmp_path):
    with pytest.raises(DataError, match=r"^no data set in .*; make one with dcka inject FILE\.csv$"):
        Dataset.load(tmp_path / "nowhere")


@pytest.mark.parametrize("seed", range(12))
def test_a_damaged_folder_is_told_in_a_sentence(tmp_path, seed):
    small(1.0).save(tmp_path)
    rng = np.random.default_rng(seed)
    paths = sorted(tmp_path.iterdir())
    path = paths[seed % 2]
    data = bytearray(path.read_bytes())
    if seed < 4:
        data = data[: int(rng.integers(0, len(data) - 2))]
    elif path.suffix == ".npz":
        data[int(rng.integers(len(data)))] ^= int(rng.integers(1, 256))
    else:
        data = data.replace([b'"step"', b'"bits"', b'"nodes"', b'"record"'][seed % 4], b'"stop"')
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"^the data set in .* is damaged \(.*make it again"):
        Dataset.load(tmp_path)


def test_a_record_of_other_points_is_told(tmp_path):
    small(1.0).save(tmp_path)
    path = tmp_path / "dataset.json"
    path.write_text(path.read_text().replace('"bits": 15', '"bits": 14'))
    with pytest.raises(DataError, match="damaged"):
        Dataset.load(tmp_path)
    path.write_text(path.read_text().replace('"bits": 14', '"bits": 15').replace('"n": 1', '"n": 2'))
    with pytest.raises(DataError, match="not those of its record"):
        Dataset.load(tmp_path)


def test_missing_arrays_are_told(tmp_path):
    small(1.0).save(tmp_path)
    next(tmp_path.glob("*.npz")).unlink()
    with pytest.raises(DataError, match=r"points-.*\.npz is missing"):
        Dataset.load(tmp_path)


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot be kept in"):
        small(1.0).save(tmp_path / "file")
