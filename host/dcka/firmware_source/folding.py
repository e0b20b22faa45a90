"""Works out what is known beforehand, and leaves out what is never reached."""

import ast
from collections.abc import Collection

from dcka.firmware_source.syntax import is_asked, is_literal, is_pure

_ENDS = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_NEVER_NONE = (ast.Tuple, ast.List, ast.Dict, ast.Set, ast.JoinedStr, ast.Lambda)


def literal(value: object) -> ast.expr:
    """The expression for a value; a negative number is what it is in a source, too."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value < 0:
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))
    return ast.Constant(value)  # type: ignore[arg-type]


def fold(tree: ast.Module, functions: Collection[str] = ()) -> None:
    """Fold one module in place. functions: the symbols that are functions, and so never None."""
    _Folder(functions).visit(tree)


class _Folder(ast.NodeTransformer):
    def __init__(self, functions: Collection[str]) -> None:
        self._functions = functions

    # ---- expressions ----

    def _worked_out(self, node: ast.expr, *parts: ast.expr) -> ast.expr:
        """The value of an expression of numbers."""
        values = [ast.literal_eval(part) for part in parts if is_literal(part)]
        if len(values) < len(parts) or not all(isinstance(value, (int, float)) for value in values):
            return node
        try:
            value = eval(compile(ast.fix_missing_locations(ast.Expression(node)), "", "eval"), {})
        except (ArithmeticError, ValueError, TypeError):
            return node  # it fails on the node, as it is written
        return literal(value)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        return self._worked_out(node, node.left, node.right)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, ast.USub):
            return node
        if isinstance(node.op, ast.Not) and is_literal(node.operand):
            return ast.Constant(not ast.literal_eval(node.operand))
        return self._worked_out(node, node.operand)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        if len(node.ops) > 1:
            return node
        operator, left, right = node.ops[0], node.left, node.comparators[0]
        if (
            isinstance(operator, (ast.Is, ast.IsNot))
            and isinstance(right, ast.Constant)
            and right.value is None
        ):
            is_none = self._is_none(left)
            return node if is_none is None else ast.Constant(is_none is isinstance(operator, ast.Is))
        if is_literal(left) and is_literal(right) and isinstance(operator, (ast.Eq, ast.NotEq)):
            equal = ast.literal_eval(left) == ast.literal_eval(right)
            return ast.Constant(equal is isinstance(operator, ast.Eq))
        return self._worked_out(node, left, right)

    def _is_none(self, node: ast.expr) -> bool | None:
        if is_literal(node):
            return bool(ast.literal_eval(node) is None)
        known = isinstance(node, _NEVER_NONE) or (isinstance(node, ast.Name) and node.id in self._functions)
        return False if known else None

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        self.generic_visit(node)
        decides = isinstance(node.op, ast.Or)
        values: list[ast.expr] = []
        for index, value in enumerate(node.values):
            last = index == len(node.values) - 1
            if is_literal(value) and bool(ast.literal_eval(value)) is decides:
                values.append(value)
                break
            if not is_literal(value) or last:
                values.append(value)
        return values[0] if len(values) == 1 else ast.BoolOp(node.op, values)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        if not is_literal(node.test):
            return node
        return node.body if ast.literal_eval(node.test) else node.orelse

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        number = isinstance(node.func, ast.Name) and node.func.id == "int" and len(node.args) == 1
        return self._worked_out(node, *node.args) if number and not node.keywords else node

    # ---- statements ----

    def visit_If(self, node: ast.If) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        if is_literal(node.test):
            return node.body if ast.literal_eval(node.test) else node.orelse
        if not _says(node.orelse):
            node.orelse = []
            if not _says(node.body):
                return ast.Expr(node.test)
        elif not _says(node.body):
            node.test, node.body, node.orelse = ast.UnaryOp(ast.Not(), node.test), node.orelse, []
        return node

    def visit_While(self, node: ast.While) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        never = is_literal(node.test) and not ast.literal_eval(node.test)
        return node.orelse if never else node

    def visit_Expr(self, node: ast.Expr) -> ast.stmt | None:
        self.generic_visit(node)
        return None if is_pure(node.value) or is_asked(node.value) else node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt | None:
        self.generic_visit(node)
        adds = isinstance(node.op, (ast.BitOr, ast.Add)) and isinstance(node.target, ast.Name)
        nothing = is_literal(node.value) and ast.literal_eval(node.value) == 0
        return None if adds and nothing else node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                setattr(node, name, _shortened(block, name == "body" and not isinstance(node, ast.Module)))
        return node


def _says(block: list[ast.stmt]) -> bool:
    return any(not isinstance(line, ast.Pass) for line in block)


def _shortened(block: list[ast.stmt], needed: bool) -> list[ast.stmt]:
    """Without `pass`, and without what comes after the block has been left."""
    kept: list[ast.stmt] = []
    for line in block:
        if not isinstance(line, ast.Pass):
            kept.append(line)
        if isinstance(line, _ENDS):
            break
    return kept or ([ast.Pass()] if needed else [])
