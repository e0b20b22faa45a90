"""Leaves out what nobody reads: functions, classes, constants, attributes that are only written, calls of nothing."""

import ast
from collections.abc import Collection, Iterable, Iterator

from dcka.firmware_source.syntax import (
    DEFINITIONS,
    FUNCTIONS,
    Trees,
    every,
    is_asked,
    is_literal,
    is_pure,
    is_symbol,
    loaded,
    nodes,
    owners,
)


def drop_unused(trees: Trees, fixed: Collection[str]) -> bool:
    """Leave out, in place, what no part of the program reads; whether there was anything.

    fixed: names and attributes that somebody outside reads.
    """
    names, attributes = loaded(trees)
    names |= set(fixed)
    attributes |= set(fixed)
    nothing = _nothings(trees)
    changed = False
    for tree in trees.values():
        for owner in owners(tree):
            read = names if owner is tree else attributes
            kept = [line for line in owner.body if not _is_unread(line, read, owner is tree)]
            changed |= len(kept) < len(owner.body)
            owner.body = kept or ([] if owner is tree else [ast.Pass()])
        for body in list(_bodies(nodes(tree))):
            changed |= _drop_lines(body, attributes, nothing)
    changed |= _drop_locals(trees)
    return changed


def _bodies(inner: Iterable[ast.AST]) -> Iterator[list[ast.stmt]]:
    """The blocks of statements that these nodes hold."""
    for node in inner:
        for name in ("body", "orelse", "finalbody"):
            value = getattr(node, name, None)
            if isinstance(value, list) and value:
                yield value


def _is_unread(line: ast.stmt, read: Collection[str], top: bool) -> bool:
    if isinstance(line, DEFINITIONS):
        return line.name not in read and not line.name.startswith("__")
    if not isinstance(line, ast.Assign) or not is_pure(line.value):
        return False
    targets = line.targets
    named = all(isinstance(one, ast.Name) and (is_symbol(one.id) or not top) for one in targets)
    return named and not any(isinstance(one, ast.Name) and one.id in read for one in targets)


def _drop_lines(body: list[ast.stmt], attributes: Collection[str], nothing: Collection[str]) -> bool:
    """Assignments to attributes that nobody reads, and calls of functions that do nothing."""
    before = len(body)
    kept: list[ast.stmt] = []
    for line in body:
        if isinstance(line, ast.Assign) and all(
            isinstance(one, ast.Attribute) and one.attr not in attributes and is_pure(one.value)
            for one in line.targets
        ):
            if not is_pure(line.value):
                kept.append(ast.copy_location(ast.Expr(line.value), line))
            continue
        call = line.value if isinstance(line, ast.Expr) else None
        if isinstance(call, ast.Call) and _is_of_nothing(call, nothing):
            continue
        kept.append(line)
    body[:] = kept or [ast.Pass()]
    return len(kept) < before


def _is_of_nothing(call: ast.Call, nothing: Collection[str]) -> bool:
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    if isinstance(call.func, ast.Attribute) and is_pure(call.func.value):
        name = "." + call.func.attr
    arguments = (*call.args, *(keyword.value for keyword in call.keywords))
    return name in nothing and all(map(is_pure, arguments))


def _nothings(trees: Trees) -> set[str]:
    """The functions without a statement, as symbols and `.method`; of a method's name there is one only."""
    assigned = {"." + node.attr for node in every(trees, ast.Attribute) if isinstance(node.ctx, ast.Store)}
    found = list(_names_of_functions(trees))
    names = [name for name, _ in found]
    return {name for name, empty in found if empty and names.count(name) == 1 and name not in assigned}


def _names_of_functions(trees: Trees) -> Iterator[tuple[str, bool]]:
    for tree in trees.values():
        for owner in owners(tree):
            for inner in owner.body:
                if isinstance(inner, FUNCTIONS):
                    name = inner.name if owner is tree else "." + inner.name
                    yield name, not inner.decorator_list and all(map(_is_nothing, inner.body))


def _is_nothing(line: ast.stmt) -> bool:
    gives_none = isinstance(line, ast.Return) and (
        line.value is None or (is_literal(line.value) and ast.literal_eval(line.value) is None)
    )
    return gives_none or isinstance(line, ast.Pass)


def _drop_locals(trees: Trees) -> bool:
    """Inner functions, and values without effect, under a local name that the function never reads."""
    changed = False
    for function in (*every(trees, ast.FunctionDef), *every(trees, ast.AsyncFunctionDef)):
        inner = nodes(function)
        read = {node.id for node in inner if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
        for node in inner:
            if isinstance(node, (ast.Global, ast.Nonlocal)):
                read |= set(node.names)
        methods = {id(node.body) for node in inner if isinstance(node, ast.ClassDef)}
        for body in [body for body in _bodies(inner) if id(body) not in methods]:
            kept = [line for line in body if not _is_unread_local(line, read)]
            changed |= len(kept) < len(body)
            body[:] = kept or [ast.Pass()]
    return changed


def _is_unread_local(line: ast.stmt, read: Collection[str]) -> bool:
    if isinstance(line, FUNCTIONS):
        return not is_symbol(line.name) and line.name not in read
    if isinstance(line, ast.Assign) and (is_pure(line.value) or is_asked(line.value)):
        return all(isinstance(one, ast.Name) and one.id not in read for one in line.targets)
    return False
