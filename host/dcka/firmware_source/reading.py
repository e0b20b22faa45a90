"""A module's source as the build begins with it: without what only readers need."""

import ast
from collections.abc import Collection, Iterator

from dcka.firmware_source.syntax import DEFINITIONS, FUNCTIONS, Function, is_literal, nodes, parameters, walk

# What a library says to whoever calls it wrongly.
_CALLERS_FAULTS = ("ValueError", "TypeError", "OverflowError", "UnsupportedQoSError", "MQTTBackpressureError")
# What it says of a broker that does not keep to the protocol, or is slow: sentences of so many words and more keep
# the first, mostly the packet's name; those that are told as the reason of an outage two.
_OTHERS_FAULTS = ("MQTTError", "MQTTProtocolError")
_LONG = 5
_MACHINE_CODE = ("viper", "native", "asm_thumb", "asm_xtensa")


def module_name(path: str) -> str:
    """The dotted name under which a board imports `path`: `dcka_core/gossip.py` → `dcka_core.gossip`."""
    return path.removesuffix("/__init__.py").removesuffix(".py").replace("/", ".")


def has_machine_code(tree: ast.Module) -> bool:
    """Whether functions are compiled to machine code, by their annotations: such a module stays as it is."""
    marks = [mark for node in walk(tree, ast.FunctionDef) for mark in node.decorator_list]
    return any(isinstance(mark, ast.Attribute) and mark.attr in _MACHINE_CODE for mark in marks)


def read(
    text: str, unused: Collection[str] = (), idle: Collection[str] = (), library: bool = False
) -> ast.Module:
    """The module without docstrings, annotations, `if TYPE_CHECKING:` and what is in `unused`.

    unused: functions ("name" or "Class.name") that no node calls. idle: those that have nothing to do on a node;
    their bodies go. library: what it says of a caller's mistakes goes too; the exception and its place say it, to us
    alone. Of a broker's, the first words stay. Raises ValueError naming one that isn't there: then the library has
    changed, and so has what can be left out; and SyntaxError.
    """
    tree = ast.parse(text)
    _without_definitions(tree, unused, idle)
    if has_machine_code(tree):
        return tree
    kept = [line for line in tree.body if not _is_for_types(line) and not _is_const(line)]
    tree.body = [single for line in kept for single in _singles(line)]
    _Bare().visit(tree)
    if library:
        _without_words(tree)
    return ast.fix_missing_locations(tree)


def _without_definitions(tree: ast.Module, unused: Collection[str], idle: Collection[str]) -> None:
    left = {*unused, *idle}
    for body, node, name in list(_functions(tree)):
        if name not in left:
            continue
        left.discard(name)
        if name in unused:
            body.remove(node)
        else:
            node.body = [ast.Pass()]
    if left:
        raise ValueError(f"no definition of {', '.join(sorted(left))} to leave out")


def _without_words(tree: ast.Module) -> None:
    for line in nodes(tree):
        raised = isinstance(line, ast.Raise)
        made = (
            line.exc if isinstance(line, ast.Raise) else line.value if isinstance(line, ast.Assign) else None
        )
        if not isinstance(made, ast.Call) or not isinstance(made.func, ast.Name):
            continue
        if made.func.id in _CALLERS_FAULTS and raised:
            made.args = []
        elif made.func.id in _OTHERS_FAULTS and made.args:
            words = _sentence(made.args[0]).split()
            if len(words) >= _LONG:
                kept = words[:1] if raised else words[:2]
                made.args = [ast.Constant(" ".join(kept).rstrip(":"))]


def _sentence(text: ast.expr) -> str:
    """What is said, with a word in each place that is filled in."""
    if isinstance(text, ast.JoinedStr):
        return "".join([str(one.value) if isinstance(one, ast.Constant) else "it" for one in text.values])
    return text.value if isinstance(text, ast.Constant) and isinstance(text.value, str) else ""


def _functions(tree: ast.Module) -> Iterator[tuple[list[ast.stmt], Function, str]]:
    for node in tree.body:
        if isinstance(node, FUNCTIONS):
            yield tree.body, node, node.name
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, FUNCTIONS):
                    yield node.body, inner, f"{node.name}.{inner.name}"


def _is_for_types(line: ast.stmt) -> bool:
    flag = isinstance(line, ast.Assign) and _is_type_checking(line.targets[0])
    return flag or (isinstance(line, ast.If) and _is_type_checking(line.test) and not line.orelse)


def _is_type_checking(expression: ast.expr) -> bool:
    return isinstance(expression, ast.Name) and expression.id == "TYPE_CHECKING"


def _is_const(line: ast.stmt) -> bool:
    """`from micropython import const`, also where it is tried: here every constant is one."""
    if isinstance(line, ast.Try):
        return len(line.body) == 1 and _is_const(line.body[0])
    return isinstance(line, ast.ImportFrom) and [alias.name for alias in line.names] == ["const"]


def _singles(line: ast.stmt) -> list[ast.stmt]:
    """`A, B = 1, 2` as two statements."""
    if isinstance(line, ast.Assign) and len(line.targets) == 1 and isinstance(line.value, ast.Tuple):
        target, values = line.targets[0], line.value.elts
        if isinstance(target, ast.Tuple) and len(target.elts) == len(values) and all(map(is_literal, values)):
            return [ast.Assign([one], value) for one, value in zip(target.elts, values, strict=True)]
    return [line]


class _Bare(ast.NodeTransformer):
    """Takes away docstrings and annotations, and `const` around a value."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, (ast.Module, *DEFINITIONS)):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                node.body = node.body[1:]
        super().generic_visit(node)
        if isinstance(node, DEFINITIONS) and not node.body:
            node.body = [ast.Pass()]
        if isinstance(node, FUNCTIONS):
            node.returns = None
            for parameter in parameters(node):
                parameter.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt | None:
        self.generic_visit(node)
        return ast.Assign([node.target], node.value) if node.value else None

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        constant = isinstance(node.func, ast.Name) and node.func.id == "const" and len(node.args) == 1
        return node.args[0] if constant else node
