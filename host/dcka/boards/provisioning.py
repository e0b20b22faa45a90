"""A version onto a board, so that a cut at any moment leaves the old version or the new one, whole.

Each file is written aside, verified on the board, renamed. The new folder is filled first, its version.json and
node.json last; then boot.py, and main.py last of all: its rename is the change from one version to the next. The
folder before it stays until the next time. What is on the board already, in whichever folder, does not travel.
"""

from dataclasses import dataclass, field

from dcka.boards import board_code
from dcka.boards.installed import Installed, read_installed
from dcka.boards.repl import Repl
from dcka.boards.transfer import BoardFull, Progress, copy, digest, require_room, send
from dcka.boards.versions import NODE_FILE, VERSION_FILE, Version, wanted_version

__all__ = ["Provisioned", "Version", "provision", "wanted_version"]

_LAST = (VERSION_FILE, NODE_FILE)
_SWEEP_S = 30.0


@dataclass(frozen=True)
class Provisioned:
    """Paths within the folder, and boot.py and main.py: which travelled, were copied on the board, were there."""

    folder: str
    sent: list[str] = field(default_factory=list)
    copied: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    bytes_sent: int = 0


@dataclass(frozen=True)
class _Step:
    """One file: its name for people, its path, its content, and where the board has the same (None: nowhere)."""

    name: str
    path: str
    content: bytes = field(repr=False)
    source: str | None


def provision(
    repl: Repl,
    version: Version,
    on_progress: Progress = lambda done, total: None,
    installed: Installed | None = None,
) -> Provisioned:
    """Put `version` on the board; it starts at the next restart. `on_progress`: bytes sent, and of how many.

    `installed`: what `read_installed` has just said, if it was asked. Raises BoardFull before the first byte,
    FileDamaged, BoardError; the board then still starts what it started before.
    """
    there = installed or read_installed(repl)
    steps, skipped = _plan(version, there)
    _make_room(repl, version, there, steps)
    done = Provisioned(
        version.folder,
        [step.name for step in steps if step.source is None],
        [step.name for step in steps if step.source is not None],
        skipped,
        sum(len(step.content) for step in steps if step.source is None),
    )
    before = 0
    for step in steps:
        if step.source is not None:
            copy(repl, step.source, step.path, step.content)
        else:
            send(repl, step.path, step.content, _added_to(before, done.bytes_sent, on_progress))
            before += len(step.content)
    _sweep(repl, version, there)
    return done


def _added_to(before: int, total: int, on_progress: Progress) -> Progress:
    """The progress of one file, as that of all."""
    return lambda now, _size: on_progress(before + now, total)


def _plan(version: Version, there: Installed) -> tuple[list[_Step], list[str]]:
    """What has to be done, in its order; and the names of what is there."""
    home = f"/{version.folder}/"
    order = sorted(version.files, key=lambda path: (_LAST.index(path) + 1 if path in _LAST else 0, path))
    wanted = [(path, home + path, version.files[path]) for path in order]
    wanted += [("boot.py", "/boot.py", version.boot_py), ("main.py", "/main.py", version.main_py)]
    found = {value: path for path, value in there.hashes.items() if path.startswith("/fw-")}
    steps, skipped = [], []
    for name, path, content in wanted:
        value = digest(content)
        if there.hashes.get(path) == value:
            skipped.append(name)
        else:
            steps.append(_Step(name, path, content, found.get(value)))
    return steps, skipped


def _make_room(repl: Repl, version: Version, there: Installed, steps: list[_Step]) -> None:
    """Raises BoardFull where it does not fit, even without what neither runs nor is being filled."""
    if not steps:
        return
    files = {step.path: step.content for step in steps}
    try:
        require_room(repl, files)
    except BoardFull:
        keep = {version.folder, (there.folder or "").strip("/")}
        sources = {step.source.split("/")[1] for step in steps if step.source}
        _remove_folders(repl, keep | sources)
        require_room(repl, files)


def _sweep(repl: Repl, version: Version, there: Installed) -> None:
    """Remove what is left of older versions and of cut attempts, and the count of starts that came to nothing.

    The folder that ran until now stays, as the way back, until the next time.
    """
    _remove_folders(repl, {version.folder, (there.folder or "").strip("/")})
    home = f"/{version.folder}/"
    aside = [
        path
        for path in there.hashes
        if path.endswith(".new") and (path.count("/") == 1 or path.startswith(home))
    ]
    gone = [*aside, "/failed.txt"]
    repl.run(f"for _d_n in {gone!r}:_d_x(_d_n)", _SWEEP_S)


def _remove_folders(repl: Repl, keep: set[str]) -> None:
    repl.load(board_code.HELPERS)
    repl.run(
        "for _d_n in [e[0] for e in os.ilistdir('/')]:\n"
        f" if _d_n[:3]=='fw-' and len(_d_n)==15 and _d_n not in {sorted(keep)!r}:_d_x('/'+_d_n)",
        _SWEEP_S,
    )
