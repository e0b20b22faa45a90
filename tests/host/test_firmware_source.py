"""What is compiled for a node differs from its source in names alone, and does the same."""

import importlib
import io
import sys
import tokenize
from collections.abc import Callable
from pathlib import Path

import pytest

from dcka.firmware_files import board_files
from dcka.firmware_source import (
    module_name,
    short_names,
    shorten,
    without_definitions,
    without_type_imports,
)

SameInShort = Callable[[dict[str, str], str], dict[str, dict[str, str]]]


@pytest.fixture
def same_in_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SameInShort:
    """Call `entry` ("module.function") in both forms of `sources` (path → text), compare, hand back the names."""

    def run(sources: dict[str, str], entry: str, folder: Path) -> object:
        for path, text in sources.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        with monkeypatch.context() as patch:
            patch.syspath_prepend(folder)
            for path in sources:
                patch.delitem(sys.modules, module_name(path), raising=False)
            module, _, function = entry.rpartition(".")
            outcome: object = getattr(importlib.import_module(module), function)()
            for path in sources:
                sys.modules.pop(module_name(path), None)
            return outcome

    def both(sources: dict[str, str], entry: str) -> dict[str, dict[str, str]]:
        names = short_names(sources)
        long = run(sources, entry, tmp_path / "long")
        assert run(shorten(sources, names), entry, tmp_path / "short") == long
        return names

    return both


BASE = """
class Base:
    def __init__(self):
        self._mine = 1
        self._also = 2
    def _help(self):
        return (self._mine, self._also)
    def told(self):
        return self._help()
"""


@pytest.mark.parametrize(
    ("line", "base"),
    [
        ("from p.base import Base", "Base"),
        ("from p.base import Base as _B", "_B"),
        ("from p import base", "base.Base"),
        ("from . import base", "base.Base"),
        ("from .base import Base", "Base"),
        ("import p.base", "p.base.Base"),
        ("import p.base as other", "other.Base"),
        ("from p import Base", "Base"),  # handed on by the package
    ],
)
def test_a_class_and_its_base_in_another_file_keep_their_names_apart(
    line: str, base: str, same_in_short: SameInShort
) -> None:
    child = f"""
{line}
class Child({base}):
    def __init__(self):
        super().__init__()
        self._own = 10
        self._first = 11
    def _read(self):
        return (self._own, self._first)
def told():
    child = Child()
    return child.told(), child._read()
"""
    package = "def __getattr__(name):\n    from p.base import Base\n    return Base\n"
    names = same_in_short({"p/__init__.py": package, "p/base.py": BASE, "p/child.py": child}, "p.child.told")
    assert {"_mine", "_also", "_help"} <= set(names["p/base.py"])
    assert {"_own", "_first", "_read"} <= set(names["p/child.py"])
    assert not set(names["p/base.py"].values()) & set(names["p/child.py"].values())


def test_two_bases_of_one_class_are_kept_apart_too(same_in_short: SameInShort) -> None:
    part = """
class {0}:
    def __init__(self):
        self._in_{0} = '{0}'
    def {0}(self):
        return self._in_{0}
"""
    both = """
from a import A
from b import B
class Both(A, B):
    def __init__(self):
        A.__init__(self)
        B.__init__(self)
def told():
    both = Both()
    return both.A(), both.B()
"""
    same_in_short({"a.py": part.format("A"), "b.py": part.format("B"), "c.py": both}, "c.told")


def test_files_without_a_common_class_share_their_short_names() -> None:
    names = short_names({"a.py": "_one = 1\n_two = 2\n", "b.py": "_three = 3\n"})
    assert names == {"a.py": {"_one": "_0", "_two": "_1"}, "b.py": {"_three": "_0"}}


def test_what_files_have_for_themselves_is_renamed_in_each_though_it_has_one_name(
    same_in_short: SameInShort,
) -> None:
    part = "class {0}:\n    def __init__(self):\n        self._at = '{0}'\n    def at(self):\n        return self._at\n"
    both = "import a, b\ndef told():\n    return a.A().at(), b.B().at()\n"
    names = same_in_short({"a.py": part.format("A"), "b.py": part.format("B"), "c.py": both}, "c.told")
    assert names["a.py"] == names["b.py"] == {"_at": "_0"}


TOLD = "def told():\n    return "
KEPT = [
    ("_shared", "_shared = 4\n", f"import a\n{TOLD}a._shared"),
    (
        "_shared",
        "def f(_shared=5):\n    return _shared\n",
        f"from a import f\n{TOLD}f(_shared=6)",
    ),
    ("_asked", "", f"class C:\n    _asked = 3\n{TOLD}getattr(C, '_asked')"),
    ("_asked", "", f"_asked = 3\n{TOLD}globals()['_as' 'ked']"),
    ("_shown", "", f"_shown = 3\n{TOLD}f'{{_shown:>{{_shown}}}} _shown'"),
    ("_shown", "", f"class C:\n    _shown = 3\n{TOLD}f'{{C._shown!r}}'"),
    ("_given", "", f"def f(_given):\n    return _given\n{TOLD}f'{{f(_given=7)}}'"),
    ("_wire", "", f"from p._wire import x\n_wire = 2\n{TOLD}_wire + x"),
    ("_thread", "", f"import _thread\n{TOLD}_thread.__name__"),
    ("_thread", "", f"import _thread as _other\n{TOLD}_other.__name__"),
    (
        "_fields",
        "",
        f"from collections import namedtuple\n_fields = namedtuple('N', 'x')._fields\n{TOLD}_fields",
    ),
    ("_3", "", f"_3 = 3\n_a = _b = _c = _d = 4\n{TOLD}_3, _a, _d"),
]


@pytest.mark.parametrize(("kept", "a", "b"), KEPT)
def test_what_others_may_ask_for_keeps_its_name(
    kept: str, a: str, b: str, same_in_short: SameInShort
) -> None:
    sources = {"a.py": a, "b.py": b, "p/__init__.py": "", "p/_wire.py": "x = 6\n"}
    names = same_in_short(sources, "b.told")
    for chosen in names.values():
        assert kept not in chosen
        assert kept not in chosen.values()


def test_every_place_of_a_name_is_renamed(same_in_short: SameInShort) -> None:
    source = '''
"""A docstring may say _name, _note and _count; a comment too."""
_count = 0
def _note(_name, *_rest, _flag=False, **_more):
    global _count
    _count += len(_rest)  # _count
    try:
        raise ValueError(_name)
    except ValueError as _error:
        return [_one for _one in (_flag, str(_error))], _count, sorted(_more.values())
class _Thing:
    _level: int = 3
    @property
    def _double(self):
        return self._level * 2
    def __secret(self):
        return "dunder names are no business of ours"
def told():
    return _note("n", 1, 2, _flag=True, x=1), _Thing()._double, _note.__doc__
'''
    names = same_in_short({"m.py": source}, "m.told")["m.py"]
    expected = "_count _note _name _rest _flag _more _error _one _Thing _level _double"
    assert set(names) == set(expected.split())
    short = shorten({"m.py": source})["m.py"]
    assert "a comment too" in short and "# _count" in short


def test_a_name_that_the_caller_keeps_is_kept() -> None:
    assert short_names({"a.py": "_one = _two = 1\n"}, keep={"_one"}) == {"a.py": {"_two": "_0"}}


def words(text: str, names: dict[str, str]) -> list[tuple[int, int, str]]:
    """Line, kind and text of every token, with the names that are shortened."""
    return [
        (
            token.start[0],
            token.type,
            names.get(token.string, token.string) if token.type == tokenize.NAME else token.string,
        )
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
    ]


def test_the_whole_firmware_keeps_its_lines_and_all_but_the_shortened_names() -> None:
    sources = {str(file.path): file.source.read_text() for file in board_files()}
    names = short_names(sources)
    short = shorten(sources)
    assert short.keys() == sources.keys()
    for path, text in sources.items():
        assert words(short[path], {}) == words(text, names[path]), path
    # It is for a small heap, so it has to be worth it.
    before = {name for text in sources.values() for name in private_names(text)}
    after = {name for text in short.values() for name in private_names(text)}
    assert len(after) < len(before) / 2


PARAMETERS = [
    ("def f(wide):\n    return wide + 1\ndef told():\n    return f(2)", {"wide"}),
    ("def f(wide):\n    return wide\ndef told():\n    return f(wide=2)", set()),
    ("wide = 1\ndef f(wide):\n    return wide\ndef told():\n    return f(2), wide", set()),
    ("class C:\n    wide = 3\ndef f(wide):\n    return wide\ndef told():\n    return f(C.wide)", set()),
    ("def f(wide):\n    return f'{wide!r}'\ndef told():\n    return f(2)", set()),
    ("def f(wide):\n    return 'wide', wide\ndef told():\n    return f(2)", set()),
    ("def f(json):\n    import json\n    return json.dumps(1)\ndef told():\n    return f(2)", set()),
    ("def f(wide):\n    def g():\n        nonlocal wide\n        wide += 1\n    g()\n    return wide\n"
     "def told():\n    return f(2)", set()),
    ("def f(wide, *more):\n    return [wide for wide in more]\ndef told():\n    return f(2, 3)", {"wide", "more"}),
]  # fmt: skip


@pytest.mark.parametrize(("source", "renamed"), PARAMETERS)
def test_parameters_are_their_functions_business(
    source: str, renamed: set[str], same_in_short: SameInShort
) -> None:
    assert set(same_in_short({"m.py": source}, "m.told")["m.py"]) == renamed


def private_names(text: str) -> set[str]:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return {
        token.string
        for token in tokens
        if token.type == tokenize.NAME and token.string[0] == "_" and token.string[:2] not in ("_", "__")
    }


def test_type_imports_become_empty_lines() -> None:
    source = """
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any
    Kernel = Any

if TYPE_CHECKING:
    pass
else:
    x = 1
y = 2
"""
    blanked = without_type_imports(source).splitlines()
    assert blanked[:6] == [""] * 6
    assert blanked[6:] == source.splitlines()[6:]


def test_unused_functions_become_empty_lines_and_a_missing_one_is_told() -> None:
    source = """
def kept():
    return 1

@property
@staticmethod
def gone(
    x,
):
    return 2

class C:
    def gone(self):
        return 3

    async def also(self):
        return 4
z = 5
"""
    left = without_definitions(source, ("gone", "C.also"))
    assert left.splitlines()[4:10] == [""] * 6
    assert "return 3" in left and "return 4" not in left and left.count("\n") == source.count("\n")
    with pytest.raises(ValueError, match=r"no definition of C\.gone_since, lost to leave out"):
        without_definitions(source, ("gone", "lost", "C.gone_since"))
