"""The state folder: nothing half written, nothing silently broken."""

import json
import os
from pathlib import Path

import pytest

from dcka.config import State, StateError, write_whole


def test_the_folder_lies_beside_the_network_file_or_where_it_is_told():
    assert State.beside(Path("nets/network.toml")).folder == Path("nets/.dcka")
    assert State.beside(None).folder == Path(".dcka")
    assert State.beside(Path("nets/network.toml"), Path("else")).folder == Path("else")


def test_what_is_written_is_read_back_and_nothing_else_is_left(tmp_path):
    state = State(tmp_path / ".dcka")
    assert state.last_run() == 0
    assert state.read(state.run(1)) is None
    state.write(state.run(9), {"run": 9, "ssd": 0.1})
    state.write(state.run(10), {"run": 10})
    state.write(state.dataset, [1, 2])
    assert state.read(state.run(9)) == {"run": 9, "ssd": 0.1}
    assert state.read(state.dataset) == [1, 2]
    assert state.last_run() == 10
    assert state.node_data(3) == state.folder / "data" / "3.bin"
    files = sorted(str(file.relative_to(state.folder)) for file in state.folder.rglob("*") if file.is_file())
    assert files == [".gitignore", "dataset.json", "runs/10.json", "runs/9.json"]
    assert (state.folder / ".gitignore").read_text() == "*\n"


def test_files_that_are_no_run_are_not_counted(tmp_path):
    state = State(tmp_path)
    state.write(state.run(2), {})
    for name in ("x.json", "7.txt", "-3.json", "³.json"):
        (tmp_path / "runs" / name).write_text("{}")
    assert state.last_run() == 2


def test_a_record_that_json_cannot_hold_leaves_the_old_file_as_it_was(tmp_path):
    state = State(tmp_path)
    state.write(state.dataset, {"old": True})
    with pytest.raises(ValueError, match="JSON"):
        state.write(state.dataset, {"ssd": float("nan")})
    assert state.read(state.dataset) == {"old": True}


def test_a_write_that_fails_half_way_leaves_the_old_file_and_nothing_aside(tmp_path, monkeypatch):
    file = tmp_path / "a.json"
    write_whole(file, b"old")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StateError, match=r"a\.json cannot be written: No space left on device"):
        write_whole(file, b"new")
    assert file.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    state = State(tmp_path / "file" / ".dcka")
    with pytest.raises(StateError, match="cannot be made"):
        state.write(state.dataset, {})
    with pytest.raises(StateError, match="cannot be written"):
        write_whole(tmp_path / "none" / "x", b"")


def test_a_broken_record_is_named_not_passed_over(tmp_path):
    state = State(tmp_path)
    state.write(state.dataset, {})
    state.dataset.write_text('{"half": ')
    with pytest.raises(StateError, match=r"dataset\.json is no JSON.*remove it"):
        state.read(state.dataset)
    state.dataset.write_bytes(b"\xff\xfe")
    with pytest.raises(StateError, match=r"dataset\.json is no JSON"):
        state.read(state.dataset)
    with pytest.raises(StateError, match="cannot be read"):
        state.read(tmp_path)


def test_json_is_readable_by_people(tmp_path):
    state = State(tmp_path)
    state.write(state.dataset, {"a": [1], "b": {"c": 2}})
    text = state.dataset.read_text()
    assert json.loads(text) == {"a": [1], "b": {"c": 2}}
    assert text.count("\n") > 3
    assert text.endswith("\n")
