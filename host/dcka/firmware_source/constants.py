"""Puts values in the place of names that stand for one value only: constants of modules and classes, attributes."""

import ast
import copy
from collections import Counter
from collections.abc import Collection, Mapping

from dcka.firmware_source.syntax import FUNCTIONS, Trees, every, is_literal, is_symbol, same, walk


def function_symbols(trees: Trees) -> set[str]:
    """The symbols that are functions, and nothing else."""
    made = [node.name for tree in trees.values() for node in tree.body if isinstance(node, FUNCTIONS)]
    stored = _stored_names(trees)
    return {name for name in made if is_symbol(name) and name not in stored and made.count(name) == 1}


def put_constants(trees: Trees, fixed: Collection[str], functions: Collection[str]) -> bool:
    """Replace what is constant, in place; whether there was anything.

    fixed: names and attributes that somebody outside reads or writes. functions: see `function_symbols`.
    """
    values = _module_constants(trees, fixed)
    attributes = _class_constants(trees)
    same_everywhere = _attribute_constants(trees, fixed, functions)
    changed = False
    for tree in trees.values():
        replacer = _Replacer(values, attributes, same_everywhere)
        replacer.visit(tree)
        changed |= replacer.changed
    return changed


def _stored_names(trees: Trees) -> set[str]:
    return {node.id for node in every(trees, ast.Name) if not isinstance(node.ctx, ast.Load)}


def _module_constants(trees: Trees, fixed: Collection[str]) -> dict[str, ast.expr]:
    """Symbol → value, where one statement alone gives it one."""
    stores = Counter(node.id for node in every(trees, ast.Name) if not isinstance(node.ctx, ast.Load))
    found = {}
    for tree in trees.values():
        for line in tree.body:
            if not isinstance(line, ast.Assign):
                continue
            for target in line.targets:
                if not (isinstance(target, ast.Name) and is_symbol(target.id) and is_literal(line.value)):
                    continue
                if stores[target.id] == 1 and target.id not in fixed:
                    found[target.id] = line.value
    return found


def _class_constants(trees: Trees) -> dict[tuple[str, str], ast.expr]:
    """(class, attribute) → value, of classes that hold nothing but constants."""
    found = {}
    for tree in trees.values():
        for owner in tree.body:
            lines = owner.body if isinstance(owner, ast.ClassDef) and not owner.bases else []
            if lines and all(isinstance(line, ast.Assign) and is_literal(line.value) for line in lines):
                assert isinstance(owner, ast.ClassDef)
                for line in lines:
                    assert isinstance(line, ast.Assign)
                    for target in line.targets:
                        if isinstance(target, ast.Name):
                            found[(owner.name, target.id)] = line.value
    return found


def _attribute_constants(
    trees: Trees, fixed: Collection[str], functions: Collection[str]
) -> dict[str, ast.expr]:
    """Attribute → value, where all objects that have it are given the same."""
    found: dict[str, ast.expr] = {}
    other: set[str] = set(fixed)
    counted: dict[str, int] = {}
    for line in every(trees, ast.Assign):
        for target in line.targets:
            if isinstance(target, ast.Attribute):
                counted[target.attr] = counted.get(target.attr, 0) + 1
                value = line.value
                known = is_literal(value) or (isinstance(value, ast.Name) and value.id in functions)
                if not known or not same(found.setdefault(target.attr, value), value):
                    other.add(target.attr)
    # Any other way to give it a value: `for`, `with`, `+=`, in a tuple, in a class.
    for node in every(trees, ast.Attribute):
        if not isinstance(node.ctx, ast.Load):
            counted[node.attr] = counted.get(node.attr, 0) - 1
    for owner in every(trees, ast.ClassDef):
        for inner in owner.body:
            if isinstance(inner, FUNCTIONS):
                other.add(inner.name)
            other |= {name.id for name in walk(inner, ast.Name) if not isinstance(name.ctx, ast.Load)}
    return {name: value for name, value in found.items() if name not in other and not counted[name]}


class _Replacer(ast.NodeTransformer):
    def __init__(
        self,
        values: Mapping[str, ast.expr],
        attributes: Mapping[tuple[str, str], ast.expr],
        same_everywhere: Mapping[str, ast.expr],
    ) -> None:
        self._values = values
        self._attributes = attributes
        self._same = same_everywhere
        self.changed = False

    def _put(self, node: ast.expr, value: ast.expr | None) -> ast.expr:
        if value is None:
            return node
        self.changed = True
        return copy.deepcopy(value)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._put(node, self._values.get(node.id) if isinstance(node.ctx, ast.Load) else None)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            return node
        if isinstance(node.value, ast.Name) and (node.value.id, node.attr) in self._attributes:
            return self._put(node, self._attributes[(node.value.id, node.attr)])
        return self._put(node, self._same.get(node.attr))

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        self.generic_visit(node)
        return node
