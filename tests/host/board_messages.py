"""The messages of the board verbs, as their sources have them: texts with a gap where a value goes."""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

from dcka.boards import errors
from dcka.errors import DckaError

ROOT = Path(__file__).parents[2]
GAP = "\0"
# What only a programmer of tests, or nobody at a board, can meet.
_NOT_MET = ("emulated", "selftest.py", "esptool_log.py")


def host_messages() -> Iterator[tuple[str, str]]:
    """(file and line, text) of every error that the board verbs raise."""
    folders = (ROOT / "host/dcka/boards", ROOT / "host/dcka/cli/board")
    files = [file for folder in folders for file in sorted(folder.rglob("*.py"))]
    files = [file for file in files if not set(_NOT_MET) & set(file.parts)]
    trees = {file: ast.parse(file.read_text()) for file in files}
    names = {name for name, kind in vars(errors).items() if _is_error(kind)} | {"UsageError"}
    while True:  # classes that derive from those known so far
        more = {
            node.name
            for tree in trees.values()
            for node in ast.walk(tree)
            if isinstance(node, ast.ClassDef) and names & {getattr(base, "id", "") for base in node.bases}
        } - names
        if not more:
            break
        names |= more
    for file, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in names and node.args:
                text = template(node.args[-1] if getattr(node.func, "id", "") == "kind" else node.args[0])
                if text:
                    yield f"{file.name}:{node.lineno}", text


def console_lines() -> Iterator[tuple[str, str]]:
    """(file and line, text) of every line of its own that the firmware prints."""
    files = [ROOT / "firmware/boot.py", *sorted((ROOT / "firmware/dcka_device").glob("*.py"))]
    for file in files:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("say", "print") and node.args:
                text = template(node.args[0])
                if text.startswith("dcka: ") or getattr(node.func, "id", "") == "say":
                    yield f"{file.name}:{node.lineno}", text.removeprefix("dcka: ")


def template(node: ast.AST) -> str:
    """The text of a literal, with gaps; "" for what is none."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(template(part) or GAP for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        words = template(node.left)
        for mark in ("%d", "%s", "%r"):
            words = words.replace(mark, GAP)
        return words
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return (template(node.left) or GAP) + (template(node.right) or GAP)
    return ""


def _is_error(kind: object) -> bool:
    return inspect.isclass(kind) and issubclass(kind, DckaError) and kind is not DckaError
