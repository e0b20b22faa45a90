"""What is prepared of the firmware is kept by content, and is what `prepare` makes."""

import os
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import pytest

from dcka.emulation import prepared
from dcka.emulation.cache import KEEP_S
from dcka.emulation.prepare import Prepared, prepare
from dcka.emulation.prepared import prepared_once
from dcka.firmware_files import BoardFile

TEXTS = {
    "main.py": "from part import count\ncount(3)\n",
    "part.py": "STEP = 2\n\n\ndef count(steps):\n    print(steps * STEP)\n    print(steps)\n",
}


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows with each time that something is really prepared."""
    made: list[int] = []

    def counted(files: Sequence[BoardFile]) -> Prepared:
        made.append(len(files))
        return prepare(files)

    monkeypatch.setattr(prepared, "prepare", counted)
    return made


def program(folder: Path, **texts: str) -> list[BoardFile]:
    folder.mkdir(exist_ok=True)
    files = []
    for name, text in {**TEXTS, **{f"{module}.py": text for module, text in texts.items()}}.items():
        (folder / name).write_text(text)
        files.append(BoardFile(PurePosixPath(name), folder / name))
    return files


def test_what_is_kept_is_what_was_made(tmp_path: Path, calls: list[int]) -> None:
    files = program(tmp_path / "sources")
    first, again = prepared_once(files, tmp_path / "store"), prepared_once(files, tmp_path / "store")
    assert first == again == prepare(files)
    assert "STEP" not in first.texts[PurePosixPath("part.py")]
    assert len(calls) == 1


def test_another_content_is_prepared_anew(tmp_path: Path, calls: list[int]) -> None:
    store = tmp_path / "store"
    two = prepared_once(program(tmp_path / "sources"), store)
    three = prepared_once(program(tmp_path / "sources", part=TEXTS["part.py"].replace("2", "3")), store)
    assert two != three
    assert prepared_once(program(tmp_path / "sources"), store) == two
    assert len(calls) == 2


def test_a_mistake_is_not_kept_and_nothing_else_is_left(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with pytest.raises(prepared.BuildError, match=r"part\.py, line 1: SyntaxError"):
        prepared_once(program(tmp_path / "sources", part="def\n"), store)
    prepared_once(program(tmp_path / "sources"), store)
    assert [file.suffix for file in store.iterdir()] == [".json"]


def test_what_nobody_used_for_long_is_removed(tmp_path: Path) -> None:
    store = tmp_path / "store"
    prepared_once(program(tmp_path / "sources"), store)
    (old,) = store.iterdir()
    long_ago = old.stat().st_mtime - KEEP_S - 60
    os.utime(old, (long_ago, long_ago))
    prepared_once(program(tmp_path / "sources", part="def count(steps):\n    print(steps)\n"), store)
    assert len(list(store.iterdir())) == 1
    assert not old.exists()


def test_a_store_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(prepared.BuildError, match=r"^cannot prepare the firmware: .*Not a directory$"):
        prepared_once(program(tmp_path / "sources"), tmp_path / "file" / "store")
