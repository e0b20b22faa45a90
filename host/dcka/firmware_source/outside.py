"""What of a program's words others know: they stay as they are."""

import array
import ast
import collections
import hashlib
import io
import select
import socket
import tokenize
from collections.abc import Collection, Iterable

from dcka.firmware_source.syntax import FUNCTIONS, Trees, every, nodes, texts, walk

# Modules of a board's chip: what their objects have, no desktop can tell.
_CHIP = ("machine", "network", "esp32", "ntptime", "tls", "ssl")
_TYPES: tuple[object, ...] = (
    str, bytes, bytearray, memoryview, int, list, tuple, dict, set, Exception, OSError, array.array,
    collections.deque, io.BytesIO, io.StringIO, io.TextIOWrapper, io.BufferedReader, io.FileIO,
    socket.socket, hashlib.sha256(), getattr(select, "poll", object)(),
)  # fmt: skip


def foreign_attributes(trees: Trees) -> set[str]:
    """Attributes that objects and modules from outside may have, whoever else has them too.

    Those of what every Python has, those asked of a module from outside, and, in a file that knows the chip's modules,
    those asked of anything but `self`.
    """
    found = {name for kind in _TYPES for name in dir(kind)}
    for node in every(trees, ast.Attribute):
        first: ast.expr = node
        while isinstance(first, ast.Attribute):
            first = first.value
        if isinstance(first, ast.Name) and first.id.startswith(":"):
            found.add(node.attr)
    for tree in trees.values():
        if _knows_the_chip(tree):
            found |= {
                node.attr
                for node in walk(tree, ast.Attribute)
                if not (isinstance(node.value, ast.Name) and node.value.id == "self")
            }
    return found


def _knows_the_chip(tree: ast.Module) -> bool:
    named = {alias.name for node in walk(tree, ast.Import) for alias in node.names}
    named |= {
        node.id.removeprefix(":").partition(".")[0]
        for node in walk(tree, ast.Name)
        if node.id.startswith(":")
    }
    return not named.isdisjoint(_CHIP)


def booted_words(sources: Iterable[str]) -> set[str]:
    """The words of the sources that a board boots, which are not compiled."""
    found = set()
    for text in sources:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.NAME:
                found.add(token.string)
    return found


def booted_modules(sources: Iterable[str], trees: Trees) -> list[str]:
    """The modules that these sources import."""
    found = []
    for text in sources:
        for node in nodes(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and node.module:
                found += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            elif isinstance(node, ast.Import):
                found += [alias.name for alias in node.names]
    return [module for module in trees if module in found]


def asked_by_name(trees: Trees, modules: Iterable[str], words: Collection[str]) -> set[str]:
    """The symbols of `modules` that one of `words` may mean."""
    symbols = set()
    for module in modules:
        for line in trees[module].body:
            made = [line.name] if isinstance(line, (*FUNCTIONS, ast.ClassDef)) else []
            if isinstance(line, ast.Assign):
                made = [node.id for target in line.targets for node in walk(target, ast.Name)]
            symbols |= {name for name in made if name.partition(":")[2] in words}
    return symbols


def texts_as_names(trees: Trees) -> set[str]:
    """The texts of the program that could be names."""
    return {text for text in texts(trees) if text.isidentifier()}
