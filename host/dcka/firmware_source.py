"""What the firmware's sources lose before they are compiled for a node: names and lines that only readers need.

Lines stay where they are: a node's traceback still tells file and line. MicroPython keeps every distinct name
once, for about 12 bytes and its letters: on a node, a quarter of the code's heap. A private name (one leading
underscore) is the business of its file, and of files with relatives of its classes, and a parameter that of its
function; so they become `_0`, `_1`, …, and all files share those few.
"""

import ast
import io
import re
import tokenize
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TypeVar

_PRIVATE = re.compile(r"_[A-Za-z][A-Za-z0-9_]*")
_SHORT = re.compile(r"_[0-9]+")

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITIONS = (*_FUNCTIONS, ast.ClassDef)
_Node = TypeVar("_Node", bound=ast.AST)


def module_name(path: str) -> str:
    """The dotted name under which a board imports `path`: `dcka_core/gossip.py` → `dcka_core.gossip`."""
    return path.removesuffix("/__init__.py").removesuffix(".py").replace("/", ".")


def without_type_imports(text: str) -> str:
    """The same source with its `if TYPE_CHECKING:` blocks, and the flag itself, blanked."""
    lines = text.splitlines(keepends=True)
    for node in ast.parse(text).body:
        flag = isinstance(node, ast.Assign) and _is_type_checking(node.targets[0])
        block = isinstance(node, ast.If) and _is_type_checking(node.test) and not node.orelse
        if flag or block:
            _blank(lines, node.lineno, node.end_lineno)
    return "".join(lines)


def without_definitions(text: str, unused: Collection[str]) -> str:
    """The same source with the functions in `unused` ("name" or "Class.name") blanked.

    Raises ValueError naming one that isn't there: then the library has changed, and so has what can be left out.
    """
    lines = text.splitlines(keepends=True)
    left = set(unused)
    for node, name in _definitions(ast.parse(text)):
        if name in left:
            left.discard(name)
            _blank(lines, min([node.lineno] + [mark.lineno for mark in node.decorator_list]), node.end_lineno)
    if left:
        raise ValueError(f"no definition of {', '.join(sorted(left))} to leave out")
    return "".join(lines)


def private_words(text: str) -> set[str]:
    """All that looks like a private name in a text, whatever its place."""
    return set(_PRIVATE.findall(text))


def short_names(sources: Mapping[str, str], keep: Collection[str] = ()) -> dict[str, dict[str, str]]:
    """For each path its private names that can be shortened, with the short name: path → {name: short}.

    sources: path (as a board has it, with `/`) → text. Files whose classes inherit from each other are a family: it
    has one short name for one name. A name stays as it is where it stands in a string or an import, where nobody in
    the family has made it (somebody else's attribute, `sys.implementation._mpy` say), where two families use it and
    one asks another object than `self` for it, or a function for its parameter, and where it is in `keep`.
    A parameter is its function's business, unless somebody gives it by name: it is shortened wherever its name means
    nothing else in the file.
    """
    trees = {path: ast.parse(text) for path, text in sources.items()}
    used = {path: set(_names_in(tree)) for path, tree in trees.items()}
    private = {path: {name for name in names if _PRIVATE.fullmatch(name)} for path, names in used.items()}
    taken = {name for names in used.values() for name in names if _SHORT.fullmatch(name)}
    free = [short for short in (f"_{number}" for number in range(1 << 12)) if short not in taken]
    families = _families(trees)
    shared = _in_more_than_one([set().union(*(private[path] for path in family)) for family in families])
    fixed = {name for tree in trees.values() for name in _asked_of_others(tree)} & shared
    fixed |= {
        name for tree in trees.values() for name in (*_quoted_names(tree), *_imported_names(tree), *keep)
    }
    by_name = {node.arg for tree in trees.values() for node in _walk(tree, ast.keyword) if node.arg}
    names: dict[str, dict[str, str]] = {path: {} for path in sources}
    for family in families:
        own = {name for path in family for name in private[path] & _own_names(trees[path])} - fixed
        local = {path: _parameters(trees[path]) - by_name - fixed - set(keep) for path in family}
        chosen = dict(zip(sorted(own.union(*local.values())), free, strict=False))
        for path in family:
            here = own & private[path] | local[path]
            names[path] = {name: short for name, short in chosen.items() if name in here}
    return names


def shorten(
    sources: Mapping[str, str], names: Mapping[str, Mapping[str, str]] | None = None
) -> dict[str, str]:
    """The same sources with their private names replaced (default: by those of `short_names`)."""
    chosen = short_names(sources) if names is None else names
    return {path: _rewritten(text, chosen.get(path, {})) for path, text in sources.items()}


# ---- what a file says ----


def _names_in(tree: ast.Module) -> Iterator[str]:
    """Every word of the program that is no string."""
    for node in ast.walk(tree):
        for _, value in () if isinstance(node, ast.Constant) else ast.iter_fields(node):
            for word in value if isinstance(value, list) else [value]:
                if isinstance(word, str):
                    yield from word.split(".")


def _in_more_than_one(groups: Sequence[set[str]]) -> set[str]:
    seen: set[str] = set()
    again: set[str] = set()
    for found in groups:
        again |= seen & found
        seen |= found
    return again


def _asked_of_others(tree: ast.Module) -> Iterator[str]:
    """Attributes of anything but `self`, and parameters by name: another file may have made object or function."""
    for node in _walk(tree, ast.Attribute):
        if not (isinstance(node.value, ast.Name) and node.value.id == "self"):
            yield node.attr
    yield from (node.arg for node in _walk(tree, ast.keyword) if node.arg)


def _parameters(tree: ast.Module) -> set[str]:
    """The parameters of the file's functions, but for names that mean something else in it too."""
    found = {node.arg for node in _walk(tree, ast.arg)} - {"self"}
    found = {name for name in found if not name.startswith("_")}
    other = {node.attr for node in _walk(tree, ast.Attribute)}
    other |= {node.name for node in ast.walk(tree) if isinstance(node, _DEFINITIONS)}
    other |= {word for alias in _walk(tree, ast.alias) for word in (alias.asname or alias.name).split(".")}
    other |= {
        name for node in ast.walk(tree) if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names
    }
    for statement in (*tree.body, *(line for body in _walk(tree, ast.ClassDef) for line in body.body)):
        if not isinstance(statement, _DEFINITIONS):
            other |= {node.id for node in _walk(statement, ast.Name)}
    # Where a string is a name, `getattr` may ask for it.
    other |= {node.value for node in _walk(tree, ast.Constant) if isinstance(node.value, str)}
    for text in _walk(tree, ast.JoinedStr):
        other |= {node.id for node in _walk(text, ast.Name)}
    return found - other


def _walk(tree: ast.AST, kind: type[_Node]) -> Iterator[_Node]:
    return (node for node in ast.walk(tree) if isinstance(node, kind))


def _own_names(tree: ast.Module) -> set[str]:
    """What the file itself makes: definitions, parameters, variables and attributes that it assigns.

    An attribute that it reads and never makes is another's, even where a variable of that name is its own.
    """
    made = {node.name for node in ast.walk(tree) if isinstance(node, _DEFINITIONS)}
    made |= {node.attr for node in _walk(tree, ast.Attribute) if not isinstance(node.ctx, ast.Load)}
    for body in _walk(tree, ast.ClassDef):
        made |= {node.id for node in _walk(body, ast.Name) if not isinstance(node.ctx, ast.Load)}
    foreign = {node.attr for node in _walk(tree, ast.Attribute)} - made
    variables = {node.id for node in _walk(tree, ast.Name) if not isinstance(node.ctx, ast.Load)}
    variables |= {node.arg for node in _walk(tree, ast.arg)}
    variables |= {node.name for node in _walk(tree, ast.ExceptHandler) if node.name}
    variables |= {node.asname for node in _walk(tree, ast.alias) if node.asname}
    return (made | variables) - foreign


def _quoted_names(tree: ast.Module) -> Iterator[str]:
    """Private names in strings, where `getattr` may ask for them, and in f-strings; not those in docstrings."""
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, *_DEFINITIONS)) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for constant in _walk(tree, ast.Constant):
        if isinstance(constant.value, str) and id(constant) not in docstrings:
            yield from _PRIVATE.findall(constant.value)
    # Their names are tokens of their own from Python 3.12 on only; one build shall not differ from another.
    for text in _walk(tree, ast.JoinedStr):
        yield from (node.id for node in _walk(text, ast.Name))
        yield from (node.attr for node in _walk(text, ast.Attribute))
        yield from (node.arg for node in _walk(text, ast.keyword) if node.arg)


def _imported_names(tree: ast.Module) -> Iterator[str]:
    """The words of modules and of what is taken from them: they are names of files, or other files' names."""
    for node in _walk(tree, ast.ImportFrom):
        yield from (node.module or "").split(".")
    for alias in _walk(tree, ast.alias):
        yield from alias.name.split(".")


# ---- who inherits from whom ----


def _families(trees: Mapping[str, ast.Module]) -> list[list[str]]:
    """The paths in groups, so that no class has a base in another group: one object may have all their names."""
    family = {path: {path} for path in trees}
    for path, tree in trees.items():
        for base in _base_files(path, tree, trees):
            merged = family[path] | family[base]
            for member in merged:
                family[member] = merged
    return [sorted(group) for group in {id(group): group for group in family.values()}.values()]


def _base_files(path: str, tree: ast.Module, trees: Mapping[str, ast.Module]) -> Iterator[str]:
    """The files that have the bases of the classes in `tree`; all of a package, where it only hands one on."""
    imported = _origins(path, tree)
    modules = {module_name(other): other for other in trees}
    for node in _walk(tree, ast.ClassDef):
        for base in node.bases:
            first, _, rest = ast.unparse(base).partition(".")
            words = f"{imported.get(first, first)}.{rest}".rstrip(".").split(".")
            for length in range(len(words) - 1, 0, -1):
                module = ".".join(words[:length])
                if module not in modules:
                    continue
                if any(made.name == words[length] for made in _walk(trees[modules[module]], ast.ClassDef)):
                    yield modules[module]
                else:
                    yield from (file for name, file in modules.items() if f"{name}.".startswith(f"{module}."))
                break


def _origins(path: str, tree: ast.Module) -> dict[str, str]:
    """What each imported name stands for: `Session` → `dcka_core.session.Session`."""
    package = module_name(path).split(".")
    if not path.endswith("/__init__.py"):
        package.pop()
    origins = {}
    for node in ast.walk(tree):
        start = ""
        if isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            start = ".".join([*above, *([node.module] if node.module else [])]) + "."
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                origins[alias.asname or alias.name] = start + alias.name
    return origins


# ---- how a text is changed ----


def _definitions(tree: ast.Module) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef, str]]:
    for node in tree.body:
        if isinstance(node, _FUNCTIONS):
            yield node, node.name
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, _FUNCTIONS):
                    yield inner, f"{node.name}.{inner.name}"


def _is_type_checking(expression: ast.expr) -> bool:
    return isinstance(expression, ast.Name) and expression.id == "TYPE_CHECKING"


def _blank(lines: list[str], first: int, last: int | None) -> None:
    for row in range(first - 1, last or first):
        lines[row] = "\n"


def _rewritten(text: str, names: Mapping[str, str]) -> str:
    lines = text.splitlines(keepends=True)
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline)) if names else []
    for token in reversed(tokens):
        short = names.get(token.string) if token.type == tokenize.NAME else None
        if short:
            row, start = token.start
            line = lines[row - 1]
            lines[row - 1] = line[:start] + short + line[start + len(token.string) :]
    return "".join(lines)
