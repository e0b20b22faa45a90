"""What the steps of the build share: literals, what has no effect, which words a program has."""

import ast
from collections.abc import Collection, Iterator, Mapping
from typing import TypeVar

Function = ast.FunctionDef | ast.AsyncFunctionDef
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DEFINITIONS = (*FUNCTIONS, ast.ClassDef)
_Node = TypeVar("_Node", bound=ast.AST)
_LITERALS = (int, float, str, bytes, type(None))


class Program(dict[str, ast.Module]):
    """Module → its tree. A global name is a symbol, `module:name`, once `symbols` has been over it.

    It remembers its nodes by their kinds until `forget`: each step of the build asks for many.
    """

    def forget(self) -> None:
        """The trees have changed."""
        self._known: dict[type, list[ast.AST]] = {}

    def nodes(self, kind: type[_Node]) -> list[_Node]:
        """All nodes of exactly this kind."""
        if not getattr(self, "_known", None):
            self._known = {}
            for tree in self.values():
                for node in nodes(tree):
                    self._known.setdefault(type(node), []).append(node)
        return self._known.get(kind, [])  # type: ignore[return-value]


Trees = Mapping[str, ast.Module]
"""A program, or some of its modules."""


def nodes(tree: ast.AST) -> list[ast.AST]:
    """Every node of a tree but marks such as `Load`; ten times as fast as `ast.walk`, of which a build needs many."""
    found = [tree]
    for node in found:
        values = node.__dict__
        kind = type(node)
        for field in _FIELDS.get(kind) or _fields(kind):
            value = values.get(field)
            if not value:
                continue
            if isinstance(value, list):
                found.extend([item for item in value if isinstance(item, ast.AST)])
            else:
                found.append(value)
    return found


_PLAIN = (
    "id", "attr", "ctx", "op", "arg", "name", "asname", "module", "level", "kind", "conversion", "simple", "is_async",
    "type_comment", "tag", "rest",
)  # fmt: skip
"""The fields that hold a word, a number or a mark, in whatever node they are."""

_FIELDS: dict[type[ast.AST], tuple[str, ...]] = {}


def _fields(kind: type[ast.AST]) -> tuple[str, ...]:
    """The fields of this kind of node that hold others."""
    known = _FIELDS.get(kind)
    if known is None:
        value = issubclass(kind, (ast.Constant, ast.MatchSingleton))
        known = () if value else tuple(field for field in kind._fields if field not in _PLAIN)
        _FIELDS[kind] = known
    return known


def walk(tree: ast.AST, kind: type[_Node]) -> Iterator[_Node]:
    """The nodes of one kind in a tree."""
    return (node for node in nodes(tree) if isinstance(node, kind))


def owners(tree: ast.Module) -> Iterator[ast.Module | ast.ClassDef]:
    """What has functions of its own: the module and its classes."""
    yield tree
    yield from walk(tree, ast.ClassDef)


def every(trees: Trees, kind: type[_Node]) -> Iterator[_Node]:
    """The nodes of one kind in the program."""
    if isinstance(trees, Program):
        return iter(trees.nodes(kind))
    return (node for tree in trees.values() for node in walk(tree, kind))


def is_literal(node: ast.AST | None) -> bool:
    """Whether it is a number, a text, bytes, True, False or None."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    return isinstance(node, ast.Constant) and isinstance(node.value, _LITERALS)


def same(first: ast.AST, second: ast.AST) -> bool:
    """Whether two expressions are written alike."""
    return ast.dump(first) == ast.dump(second)


def is_pure(node: ast.AST) -> bool:
    """Whether nothing happens where the expression is worked out: names, literals, attributes, and what holds them."""
    if isinstance(node, (ast.Tuple, ast.List)):
        return all(is_pure(item) for item in node.elts)
    if isinstance(node, ast.Dict):
        return all(key is not None and is_pure(key) for key in node.keys) and all(map(is_pure, node.values))
    if isinstance(node, ast.Attribute):
        return is_pure(node.value)
    if isinstance(node, ast.UnaryOp):
        return is_pure(node.operand)
    return isinstance(node, (ast.Constant, ast.Name, ast.Lambda))


def is_asked(node: ast.expr) -> bool:
    """Whether it only compares what has no effect: where nobody is told the outcome, nothing happens."""
    if isinstance(node, ast.BoolOp):
        return all(is_pure(value) or is_asked(value) for value in node.values)
    return isinstance(node, ast.Compare) and all(map(is_pure, (node.left, *node.comparators)))


_QUIET_METHODS = ("get", "encode", "decode", "to_bytes", "split", "startswith", "strip")
_QUIET_FUNCTIONS = ("len", "int", "str", "bytes", "bool", "min", "max", "isinstance")


def is_quiet(node: ast.expr) -> bool:
    """Whether it doesn't matter when the expression is worked out: it calls nothing but what only reads."""
    for inner in nodes(node):
        if isinstance(inner, (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)):
            return False
        if isinstance(inner, ast.Call):
            called = inner.func
            method = isinstance(called, ast.Attribute) and called.attr in _QUIET_METHODS
            if not method and not (isinstance(called, ast.Name) and called.id in _QUIET_FUNCTIONS):
                return False
    return True


def loaded(trees: Trees) -> tuple[set[str], set[str]]:
    """(names, attributes) that the program reads."""
    names = {node.id for node in every(trees, ast.Name) if isinstance(node.ctx, ast.Load)}
    names |= {alias.name for node in every(trees, ast.ImportFrom) for alias in node.names}
    attributes = {node.attr for node in every(trees, ast.Attribute) if not isinstance(node.ctx, ast.Store)}
    for line in every(trees, ast.AugAssign):
        names |= {line.target.id} if isinstance(line.target, ast.Name) else set()
        attributes |= {line.target.attr} if isinstance(line.target, ast.Attribute) else set()
    return names, attributes


def texts(trees: Trees) -> set[str]:
    """Every text of the program: `getattr` and `setattr` may take one for a name."""
    return {node.value for node in every(trees, ast.Constant) if isinstance(node.value, str)}


def bound_attributes(trees: Trees) -> set[str]:
    """The attributes that the program makes: methods, and what it assigns to objects and in classes."""
    made = {node.attr for node in every(trees, ast.Attribute) if not isinstance(node.ctx, ast.Load)}
    for owner in every(trees, ast.ClassDef):
        made |= {node.name for node in owner.body if isinstance(node, DEFINITIONS)}
        made |= {name for line in owner.body if isinstance(line, ast.Assign) for name in _targets(line)}
    return made


def _targets(line: ast.Assign) -> Iterator[str]:
    return (node.id for target in line.targets for node in walk(target, ast.Name))


def parameters(function: Function) -> list[ast.arg]:
    """All of a function's parameters, in the order in which they are written."""
    every_kind = function.args
    extra = [one for one in (every_kind.vararg, every_kind.kwarg) if one]
    return [*every_kind.posonlyargs, *every_kind.args, *every_kind.kwonlyargs, *extra]


def is_symbol(name: str, names: Collection[str] | None = None) -> bool:
    """Whether a name is a global one of the program (and in `names`)."""
    return ":" in name and (names is None or name in names)
