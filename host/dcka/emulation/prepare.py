"""The sources of a board as they go to the compiler: without what only readers need (`dcka.firmware_source`)."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from dcka.emulation.errors import BuildError
from dcka.firmware_files import WAKE_FOLDER, BoardFile
from dcka.firmware_source import make_small, module_name, read

BOOTED = (PurePosixPath("boot.py"), PurePosixPath("main.py"), PurePosixPath("trial.py"))
"""What a board runs by itself, the last one in the place of main.py: only sources do."""
_ASKS = BOOTED[:2]
"""Whose words the program has to keep; the last one asks for nothing but what main.py asks for."""


@dataclass(frozen=True)
class Prepared:
    """`texts`: path → what is compiled; what has become part of another file is not in it.

    `names`: module → {name in the build: what it was}, see `dcka.firmware_source.Whole`.
    """

    texts: dict[PurePosixPath, str]
    names: dict[str, dict[str, str]]


def is_compiled(file: BoardFile) -> bool:
    """Whether a board gets this file as `.mpy`."""
    return file.path.suffix == ".py" and file.path not in BOOTED


def prepare(files: Sequence[BoardFile]) -> Prepared:
    """Prepare all files together: with what a board boots they are a whole program, and made small as one.

    Without, or where that is no Python, somebody else may import them, and names stay.
    Raises `BuildError` with file and line.
    """
    apart = [file for file in files if is_compiled(file) and file.path.parts[0] + "/" == WAKE_FOLDER]
    if apart:
        whole_program = prepare([file for file in files if file not in apart])
        texts = {file.path: ast.unparse(_tree(file)) + "\n" for file in apart}
        return Prepared({**whole_program.texts, **texts}, whole_program.names)
    paths = {module_name(str(file.path)): file.path for file in files if is_compiled(file)}
    trees = {module_name(str(file.path)): _tree(file) for file in files if is_compiled(file)}
    booted = [file.source.read_text("utf-8", "replace") for file in files if file.path in _ASKS]
    if not booted or not all(map(_is_python, booted)):
        return Prepared({paths[module]: ast.unparse(tree) + "\n" for module, tree in trees.items()}, {})
    asked = {module_name(str(file.path)) for file in files if file.asked}
    whole = make_small(trees, booted, asked)
    return Prepared({paths[module]: text for module, text in whole.texts.items()}, whole.names)


def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


def _tree(file: BoardFile) -> ast.Module:
    try:
        return read(file.source.read_text("utf-8"), file.unused, file.idle, file.library)
    except SyntaxError as error:
        raise BuildError(f"{file.source}, line {error.lineno}: SyntaxError: {error.msg}") from error
    except ValueError as error:  # also what is no UTF-8
        raise BuildError(f"{file.source}: {error}") from error
