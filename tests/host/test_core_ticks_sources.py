"""No file of the firmware subtracts or compares raw ticks (case C38): by its syntax, which only CPython can read."""

import ast
from pathlib import Path

FIRMWARE = Path(__file__).resolve().parents[2] / "firmware"
# What a tick is called where it comes from outside: a parameter, the clock's call, the core's or the client's moment.
TICK_NAMES = ("now", "now_ms")
TICK_CALLS = ("ticks_ms", "ticks_add", "_now", "_clock", "deadline", "next_deadline", "earliest")
# `ticks.add`; a bare `add` is anything's.
TICK_MODULE = "ticks"
ORDERED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def name_of(node):
    """The last word of a name, an attribute or what is called."""
    if isinstance(node, ast.Call):
        return name_of(node.func)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def is_tick(node, known):
    """Whether an expression is a raw tick."""
    if isinstance(node, ast.Call):
        function = node.func
        by_module = isinstance(function, ast.Attribute) and name_of(function.value) == TICK_MODULE
        return name_of(function) in TICK_CALLS or (by_module and function.attr == "add")
    if isinstance(node, ast.IfExp):
        return is_tick(node.body, known) or is_tick(node.orelse, known)
    return isinstance(node, (ast.Name, ast.Attribute)) and name_of(node) in known


def tick_names(tree):
    """The names in a file that hold ticks, because one is assigned to them."""
    known = set(TICK_NAMES)
    while True:
        before = len(known)
        for node in ast.walk(tree):
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value and is_tick(node.value, known):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                known.update([name_of(target) for target in targets])
        known.discard("")
        if len(known) == before:
            return known


def raw_uses(source):
    """[(line, text)] of the places that do arithmetic or compare on raw ticks."""
    tree = ast.parse(source)
    known = tick_names(tree)
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
            parts = [node.left, node.right]
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, (ast.Add, ast.Sub)):
            parts = [node.target, node.value]
        elif isinstance(node, ast.Compare) and [op for op in node.ops if isinstance(op, ORDERED)]:
            parts = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and name_of(node) in ("min", "max", "sorted"):
            parts = node.args
        else:
            continue
        if [part for part in parts if is_tick(part, known)]:
            found.append((node.lineno, ast.unparse(node)))
    return found


PLANTED = (
    "def f(now):\n    return now - 5",
    "def f(now):\n    return now + 5",
    "def f(self, now):\n    self._due = now\n    return 7 < self._due",
    "def f(self, now):\n    self._due: int = ticks.add(now, 5)\n    moment = self._due\n    return moment >= 7",
    "def f():\n    return time.ticks_ms() - start",
    "def f(node):\n    due = node.deadline()\n    due += 5",
    "def f(a, now):\n    return min(a, now)",
    "def f(a, now):\n    return 0 <= a < now",
)
RIGHT = (
    "def f(now):\n    return ticks.diff(now, 5) >= 0 and ticks.add(now, 5)",
    "def f(self, now):\n    self._due = now\n    return self._due is None or self._due == 5",
    "def f(node):\n    wait = ticks.diff(node.deadline(), _now())\n    return max(0, wait - 5)",
)


def test_the_check_finds_what_it_has_to():
    for source in PLANTED:
        assert raw_uses(source), source
    for source in RIGHT:
        assert not raw_uses(source), (source, raw_uses(source))


def test_no_file_subtracts_or_compares_raw_ticks():
    files = [path for path in sorted(FIRMWARE.rglob("*.py")) if path.name != "ticks.py"]
    assert len(files) > 20
    for path in files:
        assert not raw_uses(path.read_text("utf-8")), path
