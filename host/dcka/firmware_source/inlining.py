"""Puts a function that one place alone calls into that place: each function costs a node 100 bytes beside its code.

A traceback then names the function that it was put into.
"""

import ast
import copy
from collections.abc import Callable, Collection, Iterator, Mapping

from dcka.firmware_source.calls import Callee, bound_by, callees, defaults_of, names_of
from dcka.firmware_source.symbols import locals_of
from dcka.firmware_source.syntax import (
    FUNCTIONS,
    Function,
    Trees,
    is_literal,
    is_pure,
    is_quiet,
    nodes,
    owners,
    walk,
)

MOST_NODES = 1200
"""Of a function's tree: code lies in one piece, and a small heap has no large ones."""

Block = list[ast.stmt]


def inline_once(trees: Trees, fixed: Collection[str], numbers: Iterator[int]) -> bool:
    """Put one function after the other into its only caller, in place; whether there was one.

    fixed: names and attributes that somebody outside calls. numbers: new ones, to tell local names apart.
    """
    changed = False
    hosts = {id(call): host for host in _methods_and_functions(trees) for call in walk(host, ast.Call)}
    for callee in callees(trees, fixed):
        host = hosts.get(id(callee.calls[0])) if len(callee.calls) == 1 else None
        if host is not None and host is not callee.function and _can_move(callee.function):
            changed |= _Inliner(callee, next(numbers)).into(host)
    return changed


def _methods_and_functions(trees: Trees) -> Iterator[Function]:
    for tree in trees.values():
        for owner in owners(tree):
            yield from (inner for inner in owner.body if isinstance(inner, FUNCTIONS))


def _can_move(function: Function) -> bool:
    """Nothing in it depends on being a function of its own."""
    kinds = (
        *(ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal),
        *(*FUNCTIONS, ast.ClassDef, ast.Lambda, ast.Import, ast.ImportFrom),
    )
    inner = [node for node in nodes(function) if node is not function]
    if function.name.startswith("__") or any(isinstance(node, kinds) for node in inner):
        return False
    return not any(isinstance(node, ast.Name) and node.id == "super" for node in inner)


class _Inliner:
    """One function and its call. number: of this one among all, so that its local names are nobody else's."""

    def __init__(self, callee: Callee, number: int) -> None:
        self._number = number
        self._callee = callee
        self._call = callee.calls[0]
        self._receiver = (
            self._call.func.value if callee.given and isinstance(self._call.func, ast.Attribute) else None
        )

    def into(self, host: Function) -> bool:
        """Put the function there."""
        receiver = self._receiver
        if receiver is not None and not (isinstance(receiver, ast.Name) and receiver.id == "self"):
            return False
        if len(nodes(host)) + len(nodes(self._callee.function)) > MOST_NODES:
            return False
        return self._as_expression(host) or self._in_block(host.body, True, host)

    # ---- as an expression ----

    def _as_expression(self, host: Function) -> bool:
        """A function that only returns something becomes that."""
        body = self._callee.function.body
        given = bound_by(self._callee, self._call)
        if len(body) != 1 or not isinstance(body[0], ast.Return) or body[0].value is None or given is None:
            return False
        if locals_of(self._callee.function) - set(self._all_names()):
            return False  # the variable of a comprehension
        values = self._values(given)
        used = [node.id for node in walk(body[0].value, ast.Name)]
        for name, value in values.items():
            if not is_pure(value) and not (is_quiet(value) and used.count(name) == 1):
                return False
        expression = _Put(values).visit(copy.deepcopy(body[0].value))
        return _swap(host, self._call, expression)

    def _all_names(self) -> list[str]:
        taken = self._callee.function.args
        return [one.arg for one in (*taken.args, *taken.kwonlyargs)]

    def _values(self, given: Mapping[str, ast.expr]) -> dict[str, ast.expr]:
        defaults = defaults_of(self._callee.function)
        values = {
            name: given.get(name, defaults.get(name, ast.Constant(None))) for name in names_of(self._callee)
        }
        if self._receiver is not None:
            values[self._callee.function.args.args[0].arg] = self._receiver
        return values

    # ---- as statements ----

    def _in_block(self, block: Block, tail: bool, host: Function) -> bool:
        for index, line in enumerate(block):
            last = tail and index == len(block) - 1
            made = self._instead_of(line, last, host)
            if made is not None:
                block[index : index + 1] = made
                return True
            for name in ("body", "orelse", "finalbody", "handlers"):
                inner = getattr(line, name, [])
                for deeper in [one.body for one in inner] if name == "handlers" else [inner]:
                    if deeper and self._in_block(deeper, last and isinstance(line, ast.If), host):
                        return True
        return False

    def _instead_of(self, line: ast.stmt, tail: bool, host: Function) -> Block | None:
        """The statements in the place of `line`; None where it isn't the call, or can't be."""
        if getattr(line, "value", None) is not self._call:
            return None
        given = bound_by(self._callee, self._call)
        if given is None or (given and sum(not is_quiet(value) for value in given.values()) > 1):
            return None
        start, body = self._own_copy(given, host)
        if isinstance(line, ast.Return):
            return [*start, *body, *([] if _ends(body) else [ast.Return(None)])]
        if isinstance(line, ast.Expr):
            plain = _without_returns(
                body, lambda value: [] if value is None or is_pure(value) else [ast.Expr(value)]
            )
            if plain is None and tail:
                plain = [_Silent().visit(one) for one in body]
            return None if plain is None else [*start, *plain] or [ast.Pass()]
        if isinstance(line, ast.Assign) and len(line.targets) == 1 and isinstance(line.targets[0], ast.Name):
            target = line.targets[0]
            none = ast.Constant(None)
            put: Callable[[ast.expr | None], Block] = lambda value: [  # noqa: E731
                ast.Assign([copy.deepcopy(target)], value or none)
            ]
            plain = _without_returns(body if _ends(body) else [*body, ast.Return(None)], put)
            return None if plain is None else [*start, *plain]
        return None

    def _own_copy(self, given: Mapping[str, ast.expr], host: Function) -> tuple[Block, Block]:
        """(what binds the parameters, the body), with local names that nobody else has."""
        function = self._callee.function
        number = self._number
        own = locals_of(function)
        stored = {node.id for node in walk(function, ast.Name) if not isinstance(node.ctx, ast.Load)}
        changing = {node.id for node in walk(host, ast.Name) if not isinstance(node.ctx, ast.Load)}
        values: dict[str, ast.expr] = {name: ast.Name(f"{name}_{number}", ast.Load()) for name in own}
        start: Block = []
        for name, value in self._values(given).items():
            fixed_name = isinstance(value, ast.Name) and value.id not in changing
            if name not in stored and (is_literal(value) or fixed_name):
                values[name] = value
            else:
                start.append(ast.Assign([ast.Name(f"{name}_{number}", ast.Store())], value))
        body = [_Put(values).visit(copy.deepcopy(line)) for line in function.body]
        return start, body


class _Put(ast.NodeTransformer):
    """Puts expressions in the place of local names."""

    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self._values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        value = self._values.get(node.id)
        if value is None:
            return node
        return ast.Name(value.id, node.ctx) if isinstance(value, ast.Name) else copy.deepcopy(value)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        value = self._values.get(node.name or "")
        if isinstance(value, ast.Name):
            node.name = value.id
        return self.generic_visit(node)


class _Silent(ast.NodeTransformer):
    """At the end of a function that gives nothing, what the inner one gives is nobody's."""

    def visit_Return(self, node: ast.Return) -> ast.stmt | Block:
        if node.value is None or is_pure(node.value):
            return ast.Return(None)
        return [ast.Expr(node.value), ast.Return(None)]


def _swap(host: Function, call: ast.Call, expression: ast.expr) -> bool:
    for node in nodes(host):
        for name, value in ast.iter_fields(node):
            if value is call:
                setattr(node, name, expression)
                return True
            if isinstance(value, list):
                for index, item in enumerate(value):
                    if item is call:
                        value[index] = expression
                        return True
    return False


def _ends(block: Block) -> bool:
    """Whether the end of the block is never reached."""
    if not block:
        return False
    last = block[-1]
    if isinstance(last, ast.If):
        return _ends(last.body) and _ends(last.orelse)
    return isinstance(last, (ast.Return, ast.Raise))


def _without_returns(block: Block, put: Callable[[ast.expr | None], Block]) -> Block | None:
    """The block with `put(value)` for each `return value`; None where one can't be had without.

    What follows a branch that returns becomes its `else`.
    """
    made: Block = []
    for index, line in enumerate(block):
        if isinstance(line, ast.Return):
            return made + put(line.value)
        if not any(isinstance(node, ast.Return) for node in nodes(line)):
            made.append(line)
            continue
        if not isinstance(line, ast.If):
            return None
        rest = block[index + 1 :]
        branches = []
        for branch in (line.body, line.orelse):
            if not _ends(branch) and any(
                isinstance(node, ast.Return) for one in branch for node in nodes(one)
            ):
                return None  # it returns here and there: what follows would be needed twice
            whole = branch if _ends(branch) else [*branch, *rest]
            branches.append(_without_returns(whole, put))
        if branches[0] is None or branches[1] is None:
            return None
        made.append(ast.If(line.test, branches[0] or [ast.Pass()], branches[1]))
        return made
    return made
