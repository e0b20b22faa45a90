"""Let a board evaluate expressions over the names of a program that is sent to it: for `dcka board bench`.

The program imports modules that a node's build has joined and renamed. So they are put, as they are, into a folder of
their own on the board's flash, which goes again in every case: what a lost cable leaves, the next call removes.
"""

import ast
import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from dcka.boards import board_code
from dcka.boards.errors import BoardError
from dcka.boards.installed import board_facts
from dcka.boards.repl import BoardRaised, Repl, open_repl
from dcka.boards.transfer import require_room, send
from dcka.boards.versions import require_fit

FOLDER = "/dcka-bench"

# Between two lines of a board: it makes 15,000 random numbers before it says a word.
_SILENCE_S = 120.0
_REMOVE_S = 30.0

Modules = Callable[[str | None], Mapping[str, bytes]]
"""Path → content of the modules for an architecture, as mpy-cross names it."""


def ask_board(
    port: str, modules_for: Modules, program: str, expressions: Sequence[str], say: Callable[[str], None]
) -> Iterator[dict[str, Any] | str]:
    """What each expression is on the board, a dict; a sentence where the board has no memory for it.

    The board's own program is stopped, and started again at the end; the modules are on its flash in between. `say` is
    told what is sent, and that an expression is done.
    Raises as `open_repl` and `require_fit` do, BoardFull before anything is written, and BoardError.
    """
    with open_repl(port) as repl:
        facts = board_facts(repl)
        require_fit(port, facts)
        files = {f"{FOLDER}/{path}": content for path, content in modules_for(facts.march).items()}
        with _on_flash(repl, files, say):
            repl.run(f"import sys\nsys.path.insert(0, {FOLDER!r})")
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


@contextlib.contextmanager
def _on_flash(repl: Repl, files: Mapping[str, bytes], say: Callable[[str], None]) -> Iterator[None]:
    """The files on the board's flash, in FOLDER, with an empty heap. FOLDER goes at the end, whatever ended it."""
    _remove(repl)
    require_room(repl, files)
    try:
        say(
            f"{len(files)} modules, {sum(map(len, files.values())) // 1024} KB, go to {FOLDER} for the time being"
        )
        for path, content in files.items():
            send(repl, path, content)
        repl.enter()  # without what sending has left in the heap
        yield
    except BaseException:
        # The error on its way says what is wrong with the board; where it is gone, the next call removes the folder.
        with contextlib.suppress(BoardError):
            _interrupt_and_remove(repl)
        raise
    _interrupt_and_remove(repl)


def _interrupt_and_remove(repl: Repl) -> None:
    repl.enter()
    _remove(repl)


def _remove(repl: Repl) -> None:
    repl.load(board_code.HELPERS)
    repl.run(f"_d_x({FOLDER!r})", _REMOVE_S)


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
