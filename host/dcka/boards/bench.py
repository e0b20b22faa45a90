"""Let a board evaluate expressions over the names of a program that is sent to it: for `dcka board bench`."""

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from dcka.boards.errors import BoardError
from dcka.boards.installed import read_installed
from dcka.boards.repl import BoardRaised, Repl, open_repl

# Between two lines of a board: it makes 15,000 random numbers before it says a word.
_SILENCE_S = 120.0


def ask_board(
    port: str, program: str, expressions: Sequence[str], say: Callable[[str], None]
) -> Iterator[dict[str, Any] | str]:
    """What each expression is on the board, a dict; a sentence where the board has no memory for it.

    The board's own program is stopped, and started again at the end. `say` is told that an expression is done.
    Raises BoardError where there is no firmware of ours, and as `open_repl` does.
    """
    with open_repl(port) as repl:
        folder = read_installed(repl).folder
        if folder is None:
            raise BoardError(
                f"{port}: there is no firmware of ours on the board: dcka board provision --port {port}"
            )
        repl.run(f"import sys\nsys.path.insert(0, {folder!r})")
        try:
            for piece in pieces(program):
                repl.run(piece)
        except BoardRaised as error:
            raise BoardError(
                f"{port}: the measuring program does not run on the board: {error.last}"
            ) from None
        for number, expression in enumerate(expressions, 1):
            answer = _answer(repl, expression)
            say(f"{number} of {len(expressions)} done")
            yield answer


def pieces(program: str) -> list[str]:
    """The definitions of a module one by one, without docstrings and comments: small heaps compile no more at once."""
    found = []
    for node in ast.parse(program).body:
        if _is_docstring(node) or (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            continue
        for inner in ast.walk(node):
            if isinstance(inner, ast.FunctionDef | ast.ClassDef) and _is_docstring(inner.body[0]):
                inner.body = inner.body[1:] or [ast.Pass()]
        found.append(ast.unparse(node))
    return found


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _answer(repl: Repl, expression: str) -> dict[str, Any] | str:
    try:
        said = repl.run(f"import gc\ngc.collect()\nprint(repr({expression}))", _SILENCE_S)
    except BoardRaised as error:
        if error.last.startswith("MemoryError"):
            return f"the board has no memory for it ({error.last})"
        raise
    try:
        found: dict[str, Any] = ast.literal_eval(said.rstrip().rpartition("\n")[2])
    except (ValueError, SyntaxError):
        raise BoardError(
            f"{repl.port}: the board's answer was disturbed: is another program, or a second task of the board, "
            f"writing on the port?"
        ) from None
    return found
