"""Who means what: every global name of the program becomes a symbol, `module:name`, that is its own everywhere.

`:gc` and `:json.dumps` stand for what comes from outside. Local names stay as they are.
"""

import ast
from collections.abc import Iterator, Mapping

from dcka.firmware_source.syntax import DEFINITIONS, FUNCTIONS, Function, Trees, nodes, parameters, walk

_SCOPES = (*FUNCTIONS, ast.Lambda, ast.ClassDef)


def resolve(trees: Trees) -> set[tuple[str, str]]:
    """Replace the global names in all trees; returns who imports whom at its top, (importer, module).

    What a module takes from another, or from outside, is no statement any more: `bundles` writes it where it is needed.
    """
    known = set(trees)
    edges: set[tuple[str, str]] = set()
    tops = {module: _Top(module, tree, known, edges) for module, tree in trees.items()}
    for module, top in tops.items():
        _Resolver(top.meanings, known).visit(trees[module])
    return edges


class _Top:
    """The global names of one module: `meanings`, name → symbol, or `module:` for a module."""

    def __init__(self, module: str, tree: ast.Module, known: set[str], edges: set[tuple[str, str]]) -> None:
        self.meanings: dict[str, str] = {}
        imported = [line for line in tree.body if isinstance(line, (ast.Import, ast.ImportFrom))]
        for line in imported:
            for alias, meaning in _imports(line, known):
                self.meanings[alias] = meaning
                if meaning.partition(":")[0]:
                    edges.add((module, meaning.partition(":")[0]))
        tree.body = [line for line in tree.body if line not in imported]
        for name in _bound(tree.body) | _global_names(tree):
            self.meanings[name] = f"{module}:{name}"


def _imports(line: ast.Import | ast.ImportFrom, known: set[str]) -> Iterator[tuple[str, str]]:
    """(local name, what it means)."""
    for alias in line.names:
        name = alias.asname or alias.name
        if isinstance(line, ast.Import):
            yield name, f":{alias.name}"
        elif f"{line.module}.{alias.name}" in known:
            yield name, f"{line.module}.{alias.name}:"
        elif line.module in known:
            yield name, f"{line.module}:{alias.name}"
        else:
            yield name, f":{line.module}.{alias.name}"


def _global_names(tree: ast.Module) -> set[str]:
    return {name for node in walk(tree, ast.Global) for name in node.names}


def _bound(body: list[ast.stmt]) -> set[str]:
    """The names that a block of statements binds, without those of the scopes within it."""
    found: set[str] = set()
    open_nodes: list[ast.AST] = list(body)
    while open_nodes:
        node = open_nodes.pop()
        if isinstance(node, DEFINITIONS):
            found.add(node.name)
            continue
        if isinstance(node, ast.Lambda):
            continue
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ExceptHandler) and node.name:
            found.add(node.name)
        open_nodes.extend(ast.iter_child_nodes(node))
    return found


def locals_of(scope: ast.AST) -> set[str]:
    """The names that are a function's, a lambda's or a class body's own."""
    if isinstance(scope, ast.Lambda):
        return {argument.arg for argument in walk(scope.args, ast.arg)}
    if isinstance(scope, ast.ClassDef):
        return _bound(scope.body)
    assert isinstance(scope, FUNCTIONS)
    own = {parameter.arg for parameter in parameters(scope)} | _bound(scope.body)
    outside: set[str] = set()
    for node in nodes(scope):
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            outside |= set(node.names)
    return own - outside


class _Resolver(ast.NodeTransformer):
    def __init__(self, meanings: Mapping[str, str], known: set[str]) -> None:
        self._meanings = meanings
        self._known = known
        self._scopes: list[tuple[ast.AST, set[str]]] = []

    def _meaning(self, name: str) -> str | None:
        for index, (scope, own) in enumerate(reversed(self._scopes)):
            # A class's names are not seen in its methods.
            if name in own and (index == 0 or not isinstance(scope, ast.ClassDef)):
                return None
        return self._meanings.get(name)

    def _inside(self, node: ast.AST, fields: tuple[str, ...]) -> None:
        self._scopes.append((node, locals_of(node)))
        for field in fields:
            self._visit_field(node, field)
        self._scopes.pop()

    def _visit_field(self, node: ast.AST, field: str) -> None:
        value = getattr(node, field)
        if isinstance(value, ast.AST):
            setattr(node, field, self.visit(value))
        elif isinstance(value, list):
            value[:] = [self.visit(item) for item in value]

    def _definition(self, node: "Function | ast.ClassDef") -> None:
        meaning = self._meaning(node.name)
        if meaning:
            node.name = meaning
        node.decorator_list = [self.visit(mark) for mark in node.decorator_list]

    def _function(self, node: Function) -> Function:
        self._definition(node)
        # Defaults are worked out outside.
        node.args = self.visit(node.args)
        self._inside(node, ("body",))
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._function(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        self._definition(node)
        node.bases = [self.visit(base) for base in node.bases]
        self._inside(node, ("body",))
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        node.args = self.visit(node.args)
        self._inside(node, ("body",))
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self._meaning(node.id) or node.id
        return node

    def visit_Global(self, node: ast.Global) -> ast.AST:
        node.names = [self._meanings[name] for name in node.names]
        return node

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        if node.name:
            node.name = self._meaning(node.name) or node.name
        return self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id.endswith(":"):
            return ast.Name(node.value.id + node.attr, node.ctx)
        return node

    def visit_Import(self, node: ast.Import) -> ast.AST:
        for alias in node.names:
            meaning = self._meaning(alias.asname or alias.name)
            if meaning:
                alias.asname = meaning
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        """One within a function: it binds a local name, at the time when it is reached."""
        if node.module in self._known:
            for alias in node.names:
                alias.asname = alias.asname or alias.name
                alias.name = f"{node.module}:{alias.name}"
        return node
