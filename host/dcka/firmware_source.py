"""What the firmware's sources lose before they are compiled for a node: names and lines that only readers need.

Lines stay where they are: a traceback of a node still tells file and line. MicroPython keeps every distinct name once, for about 12 bytes and its letters: on a node, a quarter of the code's heap.
A private name (one leading underscore) is its file's own business, so each file's private names become `_0`, `_1`, …,
and all files share those. Lines stay where they are: a traceback still tells file and line.
"""

import ast
import io
import keyword
import re
import tokenize
from collections.abc import Collection, Iterator, Mapping

_PRIVATE = re.compile(r"_[A-Za-z][A-Za-z0-9_]*")


def _tokens(text: str) -> list[tokenize.TokenInfo]:
    return list(tokenize.generate_tokens(io.StringIO(text).readline))


def _private_names(tokens: list[tokenize.TokenInfo]) -> set[str]:
    return {token.string for token in tokens if token.type == tokenize.NAME and _PRIVATE.fullmatch(token.string)}


def _quoted_names(tokens: list[tokenize.TokenInfo]) -> set[str]:
    """Private names in strings: an f-string may use them, and `getattr` may ask for them."""
    texts = [token.string for token in tokens if token.type == tokenize.STRING and not _is_docstring(token)]
    return {name for text in texts for name in _PRIVATE.findall(text)}


def _is_docstring(token: tokenize.TokenInfo) -> bool:
    return token.string.startswith(('"""', "'''"))


def _module(path: str) -> str:
    return path.removesuffix("/__init__.py").removesuffix(".py").replace("/", ".")


def _inherits_from(text: str, modules: Mapping[str, str]) -> Iterator[str]:
    """The paths of the files whose classes are bases of classes in `text`."""
    tree = ast.parse(text)
    imported = {
        alias.asname or alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for base in node.bases:
                if isinstance(base, ast.Name) and imported.get(base.id) in modules:
                    yield modules[imported[base.id]]


def without_type_imports(text: str) -> str:
    """The same source with its `if TYPE_CHECKING:` blocks, and the flag itself, blanked."""
    lines = text.splitlines(keepends=True)
    for node in ast.parse(text).body:
        flag = isinstance(node, ast.Assign) and _names(node.targets[0])
        block = isinstance(node, ast.If) and _names(node.test) and not node.orelse
        if flag or block:
            for row in range(node.lineno - 1, node.end_lineno or node.lineno):
                lines[row] = "\n"
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
            first = min([node.lineno] + [decorator.lineno for decorator in node.decorator_list])
            for row in range(first - 1, node.end_lineno or node.lineno):
                lines[row] = "\n"
    if left:
        raise ValueError(f"no definition of {', '.join(sorted(left))} to leave out")
    return "".join(lines)


def _definitions(tree: ast.Module) -> Iterator[tuple[ast.FunctionDef, str]]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node, node.name
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef):
                    yield inner, f"{node.name}.{inner.name}"


def _names(expression: ast.expr) -> bool:
    return isinstance(expression, ast.Name) and expression.id == "TYPE_CHECKING"


def shorten(sources: Mapping[str, str]) -> dict[str, str]:
    """The same sources with short private names.

    sources: path (as a board has it, with `/`) → text. A name that more than one file uses, or that stands in a string,
    is left as it is; a file whose class inherits from another file's class gets names of its own.
    """
    tokens = {path: _tokens(text) for path, text in sources.items()}
    private = {path: _private_names(tokens[path]) for path in sources}
    kept = {name for path in sources for name in _quoted_names(tokens[path])}
    for path in sources:
        others = (private[other] for other in sources if other != path)
        kept |= private[path].intersection(set().union(*others))
    modules = {_module(path): path for path in sources}
    bases = {path: set(_inherits_from(text, modules)) for path, text in sources.items()}
    names: dict[str, dict[str, str]] = {}
    for path in sources:
        _name(path, private, kept, bases, names)
    return {path: _rewrite(sources[path], tokens[path], names[path]) for path in sources}


def _name(
    path: str,
    private: Mapping[str, set[str]],
    kept: set[str],
    bases: Mapping[str, set[str]],
    names: dict[str, dict[str, str]],
) -> set[str]:
    """Choose the names of `path`, after those of the files that it inherits from; all short names in its ancestry."""
    inherited: set[str] = set()
    for base in bases[path]:
        inherited |= _name(base, private, kept, bases, names)
    if path not in names:
        taken = inherited | kept
        free = (short for short in (f"_{number}" for number in range(1 << 20)) if short not in taken)
        names[path] = {name: next(free) for name in sorted(private[path] - kept)}
    return inherited | set(names[path].values())


def _rewrite(text: str, tokens: list[tokenize.TokenInfo], names: Mapping[str, str]) -> str:
    lines = text.splitlines(keepends=True)
    for token in reversed(tokens):
        short = names.get(token.string) if token.type == tokenize.NAME else None
        if short and not keyword.iskeyword(token.string):
            row, start = token.start
            line = lines[row - 1]
            lines[row - 1] = line[:start] + short + line[start + len(token.string) :]
    return "".join(lines)
