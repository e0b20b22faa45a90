"""Words that a program says of what is not its own: `append`, `len`, `ticks_ms`. A node has them for good.

So they cost nothing a second time, as names of what only the program knows: an object of its own has no `append`.
"""

import ast
import builtins
from collections.abc import Collection, Iterator, Mapping

from dcka.firmware_source.syntax import Trees, bound_attributes, every, is_symbol, nodes, texts, walk

# What an exception has by itself, and what means something to the compiler.
_KEPT = {"args", "errno", "value", "super", "const", "locals", "globals", "self"}


def foreign_words(trees: Trees, resident: str) -> list[str]:
    """Those of the file that is always there, but for what an object of the program has too, or could be asked for.

    None where no file is always there (`resident` empty): a program without main.py.
    """
    if not resident:
        return []
    tree = trees[resident]
    found = {node.attr for node in walk(tree, ast.Attribute)}
    for node in walk(tree, ast.Name):
        if node.id.startswith(":"):
            found.add(plain(node.id))
        elif node.id in dir(builtins):
            found.add(node.id)
    ours = {plain(node.id) for node in every(trees, ast.Name) if is_symbol(node.id) and node.id[0] != ":"}
    return sorted(
        word
        for word in found - bound_attributes(trees) - texts(trees) - ours - _KEPT
        if not word.startswith("__")
    )


def plain(symbol: str) -> str:
    """`:json.dumps` → `dumps`: how a file calls what is not renamed."""
    return symbol.partition(":")[2].rpartition(".")[2] if is_symbol(symbol) else symbol


def said_in(tree: ast.Module) -> Iterator[str]:
    """The names that a file says of what is not the program's, and those of its functions' own."""
    for node in nodes(tree):
        if isinstance(node, ast.Name) and (node.id[0] == ":" or not is_symbol(node.id)):
            yield plain(node.id)
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.alias):
            yield plain(node.asname or node.name)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            yield node.name
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield plain(node.name)


def said_in_classes(trees: Trees, family_of: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """(family, name) of what is worked out among a class's own names: defaults, marks, values."""
    for owner in every(trees, ast.ClassDef):
        for line in owner.body:
            outside: list[ast.AST] = [line]
            if isinstance(line, (ast.FunctionDef, ast.AsyncFunctionDef)):
                defaults = [*line.args.defaults, *(one for one in line.args.kw_defaults if one)]
                outside = [*defaults, *line.decorator_list]
            for node in outside:
                for name in walk(node, ast.Name):
                    yield family_of[owner.name], name.id


def foreign_families(trees: Trees, family_of: Mapping[str, str]) -> Collection[str]:
    """The families of classes that stand on one from outside: their objects have more than the program says."""
    return {
        family_of[owner.name]
        for owner in every(trees, ast.ClassDef)
        for base in owner.bases
        if not (isinstance(base, ast.Name) and base.id in family_of)
    }
