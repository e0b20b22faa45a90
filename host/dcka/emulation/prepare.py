"""The sources of a board as they go to the compiler: without what only readers need (`dcka.firmware_source`)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from dcka.emulation.errors import BuildError
from dcka.firmware_files import BoardFile
from dcka.firmware_source import (
    module_name,
    private_words,
    short_names,
    shorten,
    without_definitions,
    without_type_imports,
)

BOOTED = (PurePosixPath("boot.py"), PurePosixPath("main.py"))
"""What a board runs by itself: only sources do."""


@dataclass(frozen=True)
class Prepared:
    """`texts`: path → what is compiled. `names`: module → {short name: the name in the source}."""

    texts: dict[PurePosixPath, str]
    names: dict[str, dict[str, str]]


def is_compiled(file: BoardFile) -> bool:
    """Whether a board gets this file as `.mpy`."""
    return file.path.suffix == ".py" and file.path not in BOOTED


def prepare(files: Sequence[BoardFile]) -> Prepared:
    """Prepare all files together, since names may be shared. Raises `BuildError` with file and line."""
    sources = {str(file.path): _source(file) for file in files if is_compiled(file)}
    booted = [file.source.read_text("utf-8", "replace") for file in files if file.path in BOOTED]
    names = short_names(sources, {name for text in booted for name in private_words(text)})
    texts = shorten(sources, names)
    return Prepared(
        {PurePosixPath(path): text for path, text in texts.items()},
        {
            module_name(path): {after: before for before, after in chosen.items()}
            for path, chosen in names.items()
            if chosen
        },
    )


def _source(file: BoardFile) -> str:
    try:
        return without_definitions(without_type_imports(file.source.read_text("utf-8")), file.unused)
    except SyntaxError as error:
        raise BuildError(f"{file.source}, line {error.lineno}: SyntaxError: {error.msg}") from error
    except ValueError as error:  # also what is no UTF-8
        raise BuildError(f"{file.source}: {error}") from error
