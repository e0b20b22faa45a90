"""What is compiled for a node does the same as its source: programs run both ways, and what has to stay stays."""

import ast
import importlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dcka.emulation.build import find_mpy_cross
from dcka.emulation.prepare import BOOTED, prepare
from dcka.firmware_files import board_files
from dcka.firmware_source import Whole, make_small, module_name, read
from dcka.firmware_source.rom import WORDS

Small = Callable[[dict[str, str], str], Whole]


@pytest.fixture
def same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Small:
    """Call `module.function` in both forms of the sources (path → text), compare, hand back what was made."""

    def outcome(texts: dict[str, str], entry: str, folder: Path) -> object:
        for path, text in texts.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        with monkeypatch.context() as patch:
            patch.syspath_prepend(folder)
            before = set(sys.modules)
            module, _, function = entry.rpartition(".")
            importlib.invalidate_caches()
            found: object = getattr(importlib.import_module(module), function)()
            for name in set(sys.modules) - before:
                del sys.modules[name]
            return found

    def both(sources: dict[str, str], entry: str) -> Whole:
        module, _, function = entry.rpartition(".")
        trees = {module_name(path): read(text) for path, text in sources.items()}
        whole = make_small(trees, [f"from {module} import {function}\n"])
        paths = {module_name(path): path for path in sources}
        small = {paths[name]: text for name, text in whole.texts.items()}
        expected = outcome(sources, entry, tmp_path / "long")
        assert outcome(small, entry, tmp_path / "small") == expected
        return whole

    return both


BASE = """
class Base:
    def __init__(self):
        self._mine = [1]
        self._also = [2]
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
    ],
)
def test_a_class_and_its_base_in_another_file_keep_their_attributes_apart(
    line: str, base: str, same: Small
) -> None:
    child = f"""
{line}
class Child({base}):
    def __init__(self):
        super().__init__()
        self._own = [10]
        self._first = [11]
    def _read(self):
        return (self._own, self._first)
def told():
    child = Child()
    return child.told(), child._read()
"""
    whole = same({"p/base.py": BASE, "p/child.py": child}, "p.child.told")
    # The base is always loaded with it, so they are one file.
    assert set(whole.texts) == {"p.child"}


def test_two_bases_of_one_class_are_kept_apart_too(same: Small) -> None:
    part = """
class {0}:
    def __init__(self):
        self._in_{0} = ['{0}']
    def of{0}(self):
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
    return both.ofA(), both.ofB()
"""
    same({"a.py": part.format("A"), "b.py": part.format("B"), "c.py": both}, "c.told")


SAME = {
    "constants": """
A, B = 1, 2
LIMIT = A << 5 | B
NAME = "x"
class Words:
    ON = "on"
    OFF = "off"
def told():
    total = 0
    for A_ in range(LIMIT):
        total += A_
    return total, Words.ON, NAME * B, -LIMIT % 7
""",
    "a name of one's own": """
LIMIT = 3
def told():
    found = [LIMIT for LIMIT in range(2)]
    return found, (lambda LIMIT: LIMIT)(5), inner(7)
def inner(LIMIT):
    LIMIT += 1
    return LIMIT
""",
    "a global that changes": """
count = 0
def raise_it():
    global count
    count += 1
    return count
def told():
    return raise_it(), raise_it(), count
""",
    "parameters": """
class C:
    def __init__(self, first, *, second=2, third=3, mode="quiet"):
        self.all = (first, second, third)
        if mode not in ("quiet", "loud"):
            raise ValueError(mode)
    def add(self, by=1, times=1):
        return [value + by * times for value in self.all]
def told():
    return C(1, third=5).add(), C(4, second=6).add(by=2), C(first=7).add(times=3)
""",
    "the order in which things happen": """
log = []
def note(what):
    log.append(what)
    return what
def pair(a, b):
    return a, b
def told():
    return pair(b=note(1), a=note(2)), pair(note(3), note(4)), log
""",
    "attributes that are always the same": """
def nothing(*_):
    return None
class C:
    def __init__(self):
        self.call = nothing
        self.on = True
        self.level = 0
        self.unread = 5
    def run(self):
        self.call("never heard")
        self.level += 1
        self.unread = self.level
        return "on" if self.on else "off"
def told():
    c = C()
    return c.run(), c.run(), c.level
""",
    "attributes by name": """
class C:
    def __init__(self):
        self.named = 1
        self.other = 2
def told():
    c = C()
    setattr(c, "named", 5)
    return c.named, getattr(c, "other")
""",
    "functions that move": """
class C:
    def __init__(self):
        self.found = []
    def guard(self, value):
        if value < 0:
            return
        if value > 9:
            self.found.append("much")
            return
        self.found.append(value)
    def last(self, value):
        for one in self.found:
            if one == value:
                return one
        return self.none(value)
    def none(self, value):
        self.found.append(None)
        if value:
            return "none of %r" % value
        return "none"
    def told(self, value):
        self.guard(value)
        self.found.append(square(value + 1))
        size = self.size()
        return size, self.last(value + 7)
    def size(self):
        if not self.found:
            return 0
        one = len(self.found)
        return one
def square(x):
    return x * x
def told():
    return [(C().told(value), value) for value in (-1, 3, 12)]
""",
    "functions that stay, or whose names go with them": """
def late():
    import json
    from os import path as place
    return json.dumps(1), place.join("a", "b")
def caught(value):
    try:
        return int(value)
    except ValueError as error:
        return str(error)
def walked(value):
    with_it = [item for item in value if item]
    for item in with_it:
        value = item
    return value
def told():
    json = "mine"
    error = "mine too"
    first = late()
    second = caught("x")
    third = walked([0, 4, 5])
    return first, second, third, json, error
""",
    "nested functions": """
def told():
    total = [0]
    def add(value, twice=False):
        nonlocal_total = value * (2 if twice else 1)
        total[0] += nonlocal_total
        return total[0]
    return add(1), add(2, twice=True), [f(3) for f in (lambda value: value, add)]
""",
    "texts that are worked out": """
class C:
    def __init__(self):
        self.level = 3
        self._wide = 5
def told():
    c = C()
    level = 2
    return f"{c.level:>{c._wide}} {level!r}"
""",
    "what is tried": """
class OddError(Exception):
    pass
def half(value):
    if value % 2:
        raise OddError(value)
    return value // 2
def told():
    found = []
    for value in range(4):
        try:
            found.append(half(value))
        except OddError as error:
            found.append(type(error).__name__)
        finally:
            found.append("done")
    return found
""",
}


@pytest.mark.parametrize("case", SAME)
def test_a_small_program_does_the_same(case: str, same: Small) -> None:
    same({"m.py": SAME[case]}, "m.told")


LAYERS = {
    "p/low.py": """
from p.shared import double
class Low:
    kind = "low"
    _calls = 0
    def begin(self, first):
        self._first = first
        self._calls += 1
    def again(self, by):
        return self.double_first() + by if by < 9 else self.again(by - 9)
    def double_first(self):
        return double(self._first)
    def replaced(self):
        return "never"
""",
    "p/shared.py": "def double(value):\n    return value * 2 if value < 99 else double(value - 99)\n",
    "p/middle.py": "from p.low import Low\nclass Middle(Low):\n    def replaced(self):\n        return self.kind\n",
    "p/top.py": """
from p.middle import Middle
class Top(Middle):
    kind = "top"
    def __init__(self, first):
        self.begin(first)
        self.begin(first + 1)
def told():
    tops = [Top(3), Top(40)]
    return [(top.again(1), top.again(20), top.replaced(), top._calls) for top in tops]
""",
}


def test_layers_of_one_class_become_one(same: Small) -> None:
    whole = same(LAYERS, "p.top.told")
    [text] = whole.texts.values()
    assert text.count("class ") == 1
    # A traceback still says in which source a method is.
    functions = {one for label in whole.names["p.top"].values() for one in label.split("/")}
    assert "p.low:.again" in functions and "p.top:.again" not in functions


@pytest.mark.parametrize(
    "more",
    [
        "class Other(Middle):\n    pass\n",
        "def is_one(thing):\n    return isinstance(thing, Middle)\n",
        "class Last(Top):\n    def again(self, by):\n        return super().again(by) + 1\n",
    ],
)
def test_a_class_that_others_need_too_stays_one(more: str, same: Small) -> None:
    told = "    tops = [Top(3), Top(40), Other(5)]\n" if "Other" in more else ""
    told += "    if not is_one(tops[0]): return None\n" if "is_one" in more else ""
    told += "    tops = [Top(3), Last(40)]\n" if "Last" in more else ""
    head, tail = LAYERS["p/top.py"].split("def told():\n")
    first, _, rest = tail.partition("\n")
    top = head + more.replace("pass", "def __init__(self, first):\n        self.begin(first)")
    [text] = same(
        LAYERS | {"p/top.py": f"{top}def told():\n{first}\n{told}{rest}"}, "p.top.told"
    ).texts.values()
    assert text.count("class ") > 1


def test_modules_that_are_asked_for_by_a_text_keep_what_is_asked_of_them(same: Small) -> None:
    whole = same(
        {
            "k/part.py": "from k.shared import scale\ndef work(x):\n    return scale(x) + _more\n_more = 1\n",
            "k/late.py": "def also(x):\n    return x * 100\n",
            "k/shared.py": "def scale(x):\n    y = x\n    return y * FACTOR + FACTOR\nFACTOR = 10\n",
            "k/main.py": """
from k.shared import scale
def told():
    module = getattr(__import__("k.part"), "part")
    from k.late import also
    from k import late
    return module.work(scale(2)), also(3), late.also(4)
""",
        },
        "k.main.told",
    )
    # What both need is in the file that is always there.
    assert set(whole.texts) == {"k.main", "k.part", "k.late"}
    assert "def work" in whole.texts["k.part"] and "_more" not in whole.texts["k.part"]


def test_what_nobody_needs_is_left_out(same: Small) -> None:
    text = """
USED, UNUSED = 3, 4
def helper():
    return UNUSED
class Forgotten:
    pass
class C:
    KEPT = [1]
    def used(self):
        return self.KEPT, USED
    def unused(self):
        return self.helper_of_unused()
    def helper_of_unused(self):
        return helper()
def told():
    if USED > 5:
        return Forgotten()
    return C().used()
"""
    [small] = same({"m.py": text}, "m.told").texts.values()
    assert "Forgotten" not in small and small.count("def ") <= 2


def test_names_say_what_each_name_was() -> None:
    text = """
class Counter:
    def __init__(self):
        self.steps = []
    def advance(self, by):
        if by > 1:
            return self.advance(by - 1)
        return self.steps
def run():
    return Counter().advance(2), Counter().advance(3)
"""
    whole = make_small({"m": read(text)}, ["import m\nm.run()\n"])
    assert whole.names["m"]["run"] == "m:run"
    real = {one for label in whole.names["m"].values() for one in label.split("/")}
    assert real == {"m:run", "m:.__init__", "m:.advance", "Counter", ".steps"}


def test_of_one_file_no_two_functions_have_the_same_name() -> None:
    prepared = prepare(board_files())
    for names in prepared.names.values():
        for short, label in names.items():
            functions = [one for one in label.split("/") if ":" in one]
            # Methods that several classes have stay one name, and so do those that the interpreter calls.
            assert len({one.rpartition(":")[2] for one in functions}) <= 1, (short, label)


def test_the_firmware_keeps_the_words_of_the_chip_and_loses_most_of_its_own() -> None:
    files = board_files()
    small = {str(path): text for path, text in prepare(files).texts.items()}
    for word in ("isconnected", "ifconfig", "disconnect", "status", "WLAN", "STAT_GOT_IP"):
        assert word in small["dcka_device/wifi.py"]
    for word in ("verify_mode", "load_verify_locations", "wrap_socket"):
        assert word in small["dcka_device/tls.py"]
    assert "reset_cause" in small["dcka_device/guard.py"] and "feed" in small["dcka_device/guard.py"]
    # Machine code, half of all letters, stays as it is.
    texts = {str(file.path): file.source.read_text() for file in files if file.path not in BOOTED}
    kept = {path for path in texts if "viper" in path}
    assert kept <= small.keys()
    before = sum(len(text) for path, text in texts.items() if path not in kept)
    assert sum(len(text) for path, text in small.items() if path not in kept) < before * 0.6


def test_attributes_of_classes_that_have_nothing_in_common_share_their_words(same: Small) -> None:
    text = """
class Left:
    def __init__(self):
        self.first = [1]
        self.second = [2]
class Right:
    def __init__(self):
        self.third = [3]
        self.given = [4]
def told():
    left, right = Left(), Right()
    left.given = [5]
    return left.first, left.second, left.given, right.third, right.given
"""
    names = same({"m.py": text}, "m.told").names["m"]
    words = {one: short for short, label in names.items() for one in label.split("/")}
    assert words[".first"] == words[".third"]
    # `given` is also put into an object from outside: it may be anybody's, and has a word of its own.
    assert words[".given"] not in (words[".first"], words[".second"])


def test_a_library_says_less_of_its_callers_mistakes_and_as_much_of_all_else() -> None:
    text = "def f(n):\n    if n:\n        raise ValueError(f'{n} is wrong')\n    raise OSError('gone')\n"
    assert "raise ValueError()" in ast.unparse(read(text, library=True))
    assert "raise OSError('gone')" in ast.unparse(read(text, library=True))
    assert "is wrong" in ast.unparse(read(text)), "our own code keeps its words"
    said = "raise MQTTProtocolError(%s)"
    for whole, kept in (
        ("f'SUBACK for unknown packet_id {n}'", "'SUBACK'"),
        ("'varlen exceeds 4 bytes (malformed)'", "'varlen'"),
        ("'broker closed connection'", "'broker closed connection'"),
        ("n", "n"),
    ):
        assert said % kept == ast.unparse(read(said % whole, library=True))
    told = "self.last_error = MQTTError(f'send timeout: no progress for {n} ms')"
    assert ast.unparse(read(told, library=True)) == "self.last_error = MQTTError('send timeout')"


def test_the_words_that_cost_nothing_are_numbers_in_what_is_compiled(tmp_path: Path) -> None:
    source = tmp_path / "words.py"
    source.write_text("".join(f"x.{word}\n" for word in (*WORDS, "no_word_of_these")))
    subprocess.run([find_mpy_cross(), "-o", tmp_path / "words.mpy", source], check=True)
    compiled = (tmp_path / "words.mpy").read_bytes()
    assert [word for word in WORDS if word.encode() + b"\0" in compiled] == []
    assert b"no_word_of_these" in compiled


@pytest.mark.parametrize("kept", ["def f(wide: ptr16) -> int:", "@micropython.viper"])
def test_machine_code_stays_as_it_is(kept: str) -> None:
    text = "import micropython\n@micropython.viper\ndef f(wide: ptr16) -> int:\n    return int(wide[0])\n"
    user = "def told():\n    from fast import f\n    return f(b'')\n"
    whole = make_small({"fast": read(text), "user": read(user)}, ["from user import told\n"])
    assert kept in whole.texts["fast"] and "from fast import f" in whole.texts["user"]


def test_reading_takes_away_what_only_readers_need() -> None:
    text = '''
"""What it is."""
from micropython import const
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any
_A = const(3)
class C:
    """More."""
    n: int
    def f(self, x: "Any" = None) -> "Any":
        """And more."""
        found: list[int] = []
        return found
    def gone(self):
        return 3
    def idle(self):
        return 4
'''
    left = ast.unparse(read(text, ("C.gone",), ("C.idle",)))
    assert left == (
        "_A = 3\n\nclass C:\n\n    def f(self, x=None):\n        found = []\n        return found\n\n"
        "    def idle(self):\n        pass"
    )
    with pytest.raises(ValueError, match=r"no definition of C\.gone_since, lost to leave out"):
        read(text, ("C.gone", "lost"), ("C.gone_since",))
