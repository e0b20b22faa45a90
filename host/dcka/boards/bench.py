"""Let a board evaluate expressions over the names of a program that is sent to it: for `dcka board bench`."""

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from dcka.boards import board_code
from dcka.boards.errors import BoardError
from dcka.boards.installed import board_facts
from dcka.boards.repl import BoardRaised, Repl, open_repl
from dcka.boards.transfer import require_room, send
from dcka.boards.versions import require_fit

# Between two lines of a board: it makes 15,000 random numbers before it says a word.
_SILENCE_S = 120.0
# To remove some twenty files.
_STEP_S = 20.0
FOLDER = "/dcka-bench"
_CLEAR = f"try:_d_x({FOLDER!r})\nexcept OSError:pass"


def ask_board(
    port: str,
    modules_for: Callable[[str | None], Mapping[str, bytes]],
    program: str,
    expressions: Sequence[str],
    say: Callable[[str], None],
) -> Iterator[dict[str, Any] | str]:
    """What each expression is on the board, a dict; a sentence where the board has no memory for it.

    modules_for: mpy-cross's name of the board's machine code → the modules that the program imports, path → content.
    They go into a folder of their own, which is removed at the end; what a lost cable leaves of it, by the next call.
    The board's own program is stopped, and started again at the end. `say` is told that an expression is done.
    Raises BoardError as `open_repl` and `require_room` do, and where this program and the board don't fit.
    """
    with open_repl(port) as repl:
        facts = board_facts(repl)
        require_fit(port, facts)
        modules = {f"{FOLDER}/{path}": content for path, content in modules_for(facts.march).items()}
        repl.load(board_code.HELPERS)
        repl.run(_CLEAR, _STEP_S)
        try:
            _put(repl, modules, say)
            _start(repl, program)
            for number, expression in enumerate(expressions, 1):
                answer = _answer(repl, expression)
                say(f"{number} of {len(expressions)} done")
                yield answer
        finally:
            # A cable that was pulled: the next call clears it.
            with suppress(BoardError, OSError):
                repl.load(board_code.HELPERS)
                repl.run(_CLEAR, _STEP_S)


def _put(repl: Repl, modules: Mapping[str, bytes], say: Callable[[str], None]) -> None:
    require_room(repl, modules)
    say(f"sending {len(modules)} modules, {sum(map(len, modules.values())) / 1000:.0f} KB")
    for path, content in modules.items():
        send(repl, path, content)


def _start(repl: Repl, program: str) -> None:
    repl.run(f"import sys\nsys.path.insert(0, {FOLDER!r})")
    try:
        for piece in pieces(program):
            repl.run(piece)
    except BoardRaised as error:
        raise BoardError(
            f"{repl.port}: the measuring program does not run on the board: {error.last}"
        ) from None


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
