"""Functions whose every call is known: parameters that have one value only, or none, leave; keywords become places.

A keyword costs a name and three bytes of code in each call, and each parameter with a default a place in a table.
"""

import ast
import copy
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from dcka.firmware_source.syntax import (
    FUNCTIONS,
    Function,
    Trees,
    every,
    is_literal,
    is_pure,
    is_quiet,
    is_symbol,
    nodes,
    same,
    walk,
)


@dataclass(frozen=True)
class Callee:
    """A function, its calls, and how many parameters a call does not give (`self`)."""

    function: Function
    calls: list[ast.Call]
    given: int


def simplify_calls(trees: Trees, fixed: Collection[str], functions: Collection[str]) -> bool:
    """Change functions and their calls, in place; whether anything has changed.

    fixed: names and attributes that somebody outside calls. functions: the symbols that are functions.
    """
    changed = False
    for callee in callees(trees, fixed):
        bound = [bound_by(callee, call) for call in callee.calls]
        if not callee.calls or not all(one is not None for one in bound):
            continue
        known = [one for one in bound if one is not None]
        gone = _superfluous(callee, known, functions)
        changed |= bool(gone)
        changed |= _rewrite(callee, known, gone)
    return changed


# ---- which functions ----


def callees(trees: Trees, fixed: Collection[str]) -> list[Callee]:
    """The functions of which every call is known. fixed: names and attributes that somebody outside calls."""
    calls: dict[str, list[ast.Call]] = {}
    loads: dict[str, int] = {}
    for node in every(trees, ast.Call):
        name = _name_of(node.func)
        if name:
            calls.setdefault(name, []).append(node)
    for name_node in every(trees, ast.Name):
        if isinstance(name_node.ctx, ast.Load):
            loads[name_node.id] = loads.get(name_node.id, 0) + 1
    for attribute in every(trees, ast.Attribute):
        # What is assigned under a method's name may be called instead of it.
        loads["." + attribute.attr] = loads.get("." + attribute.attr, 0) + 1
    for line in every(trees, ast.ImportFrom):
        for alias in line.names:
            loads[alias.name] = loads.get(alias.name, 0) + 1
    for node in every(trees, ast.Call):
        # Asking whether something is of a class is no way to make one.
        if isinstance(node.func, ast.Name) and node.func.id == "isinstance":
            for name_node in walk(node.args[1], ast.Name):
                loads[name_node.id] -= 1
    found = []
    for name, function, given in _functions(trees):
        own = calls.get(name, [])
        if name.lstrip(".") not in fixed and loads.get(name, 0) == len(own) and _is_plain(function, own):
            found.append(Callee(function, own, given))
    return found


def _name_of(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    # `Class.method(self)` is another way to call, and not looked at.
    through_class = (
        isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and is_symbol(node.value.id)
    )
    return "." + node.attr if isinstance(node, ast.Attribute) and not through_class else ""


def _functions(trees: Trees) -> list[tuple[str, Function, int]]:
    """(symbol, `.method` or class, function, parameters that no call gives), each name that means one function."""
    found: list[tuple[str, Function, int]] = []
    inherited = {
        base.id for owner in every(trees, ast.ClassDef) for base in owner.bases if isinstance(base, ast.Name)
    }
    assigned = {node.attr for node in every(trees, ast.Attribute) if not isinstance(node.ctx, ast.Load)}
    for tree in trees.values():
        for node in tree.body:
            if isinstance(node, FUNCTIONS):
                found.append((node.name, node, 0))
    for owner in every(trees, ast.ClassDef):
        for inner in owner.body:
            if not isinstance(inner, FUNCTIONS):
                continue
            if inner.name == "__init__" and not owner.bases and owner.name not in inherited:
                found.append((owner.name, inner, 1))
            elif not inner.name.startswith("__") and inner.name not in assigned:
                found.append(("." + inner.name, inner, 1))
    names = [name for name, _, _ in found]
    return [one for one in found if names.count(one[0]) == 1]


def _is_plain(function: Function, calls: list[ast.Call]) -> bool:
    """Without decorators, and nowhere `*` or `**`."""
    taken = function.args
    if function.decorator_list or taken.vararg or taken.kwarg or taken.posonlyargs:
        return False
    return not any(isinstance(argument, ast.Starred) for call in calls for argument in call.args) and not any(
        keyword.arg is None for call in calls for keyword in call.keywords
    )


# ---- what each call gives ----


def names_of(callee: Callee) -> list[str]:
    taken = callee.function.args
    return [one.arg for one in (*taken.args, *taken.kwonlyargs)][callee.given :]


def defaults_of(function: Function) -> dict[str, ast.expr]:
    taken = function.args
    places = [one.arg for one in taken.args][len(taken.args) - len(taken.defaults) :]
    found = dict(zip(places, taken.defaults, strict=True))
    for one, default in zip(taken.kwonlyargs, taken.kw_defaults, strict=True):
        if default is not None:
            found[one.arg] = default
    return found


def bound_by(callee: Callee, call: ast.Call) -> dict[str, ast.expr] | None:
    """Parameter → what the call gives; None where it does not fit, or the order in which it is worked out matters."""
    names = names_of(callee)
    defaults = defaults_of(callee.function)
    if len(call.args) > len(names):
        return None
    given = dict(zip(names, call.args, strict=False))
    for keyword in call.keywords:
        if keyword.arg is None or keyword.arg in given or keyword.arg not in names:
            return None
        given[keyword.arg] = keyword.value
    if call.keywords and sum(not is_quiet(value) for value in given.values()) > 1:
        return None
    return given if all(name in given or name in defaults for name in names) else None


def _superfluous(
    callee: Callee, bound: list[dict[str, ast.expr]], functions: Collection[str]
) -> dict[str, ast.expr | None]:
    """The parameters that can leave: name → the one value that all calls give; None where nobody reads it."""
    defaults = defaults_of(callee.function)
    body = nodes(callee.function)
    stored = {node.id for node in body if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    stored |= {name for node in body if isinstance(node, ast.Nonlocal) for name in node.names}
    inner = {one.arg for node in body if node is not callee.function
             and isinstance(node, (*FUNCTIONS, ast.Lambda)) for one in walk(node.args, ast.arg)}  # fmt: skip
    read = {node.id for node in body if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    found: dict[str, ast.expr | None] = {}
    for name in names_of(callee):
        if name in stored or name in inner:
            continue
        values = [one.get(name, defaults.get(name)) for one in bound]
        known = [value for value in values if value is not None]
        if name not in read and all(map(is_pure, known)):
            found[name] = None
        elif all(_is_constant(value, functions) and same(value, known[0]) for value in known):
            found[name] = known[0]
    return found


def _is_constant(value: ast.expr, functions: Collection[str]) -> bool:
    return is_literal(value) or (isinstance(value, ast.Name) and value.id in functions)


# ---- the change ----


def _rewrite(callee: Callee, bound: list[dict[str, ast.expr]], gone: Mapping[str, ast.expr | None]) -> bool:
    defaults = defaults_of(callee.function)
    left = [name for name in names_of(callee) if name not in gone]
    # Nobody leaves it to the default: then it needs none.
    needed = [name for name in left if name in defaults and not all(name in one for one in bound)]
    order = [name for name in left if name not in needed] + needed
    taken = callee.function.args
    keywords = any(call.keywords for call in callee.calls)
    if not gone and not keywords and len(needed) == len(defaults) and not taken.kwonlyargs:
        return False
    if not all(is_literal(defaults[name]) for name in needed):
        return False
    if any(sum(not is_quiet(value) for value in one.values()) > 1 for one in bound) and order != left:
        return False
    by_name = {one.arg: one for one in (*taken.args, *taken.kwonlyargs)}
    taken.args = taken.args[: callee.given] + [by_name[name] for name in order]
    taken.kwonlyargs, taken.kw_defaults = [], []
    taken.defaults = [defaults[name] for name in needed]
    callee.function.body = [_Substitution(gone).visit(line) for line in callee.function.body]
    for call, one in zip(callee.calls, bound, strict=True):
        last = max([order.index(name) for name in order if name in one], default=-1)
        call.args = [one.get(name) or copy.deepcopy(defaults[name]) for name in order[: last + 1]]
        call.keywords = []
    return True


class _Substitution(ast.NodeTransformer):
    def __init__(self, values: Mapping[str, ast.expr | None]) -> None:
        self._values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        value = self._values.get(node.id)
        return node if value is None else copy.deepcopy(value)
