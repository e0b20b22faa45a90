"""A class that is there for one other alone becomes part of it: one object, written in layers, costs a node one class.

So sources may divide what an object does among files, by subject.
"""

import ast

from dcka.firmware_source.syntax import DEFINITIONS, FUNCTIONS, Trees, every, walk

_HOME = "home"
"""The field of a method that has left its module: where its source is."""


def merge_layers(trees: Trees) -> None:
    """Put each class whose only mention is as the one base of another into that, in place.

    Left alone is one whose heir uses `super()`.
    """
    while _merge_one(trees):
        pass


def home_of(method: ast.AST, owner: ast.ClassDef) -> str:
    """The module in whose source a class's method is."""
    found: str = getattr(method, _HOME, owner.name.partition(":")[0])
    return found


def _merge_one(trees: Trees) -> bool:
    classes = {
        line.name: (tree, line)
        for tree in trees.values()
        for line in tree.body
        if isinstance(line, ast.ClassDef)
    }
    mentions: dict[str, int] = {}
    for node in every(trees, ast.Name):
        mentions[node.id] = mentions.get(node.id, 0) + 1
    for line in every(trees, ast.ImportFrom):
        for alias in line.names:
            mentions[alias.name] = mentions.get(alias.name, 0) + 1
    for _, heir in classes.values():
        base = heir.bases[0] if len(heir.bases) == 1 else None
        if not isinstance(base, ast.Name) or base.id not in classes or mentions[base.id] != 1:
            continue
        tree, layer = classes[base.id]
        if layer.decorator_list or layer.keywords or any(node.id == "super" for node in walk(heir, ast.Name)):
            continue
        _merge(layer, heir)
        tree.body.remove(layer)
        if not tree.body:
            tree.body.append(ast.Pass())
        return True
    return False


def _merge(layer: ast.ClassDef, heir: ast.ClassDef) -> None:
    own = {name for line in heir.body for name in _names(line)}
    for line in layer.body:
        if isinstance(line, FUNCTIONS):
            setattr(line, _HOME, home_of(line, layer))
    kept = [line for line in layer.body if not _names(line) & own]
    heir.bases = layer.bases
    heir.body = [*kept, *heir.body]


def _names(line: ast.stmt) -> set[str]:
    """What a line of a class's body makes."""
    if isinstance(line, DEFINITIONS):
        return {line.name}
    return {node.id for node in walk(line, ast.Name) if isinstance(node.ctx, ast.Store)}
