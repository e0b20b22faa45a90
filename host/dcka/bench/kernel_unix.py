"""`kernel_on_node` in the MicroPython of this computer, with the firmware as a node has it."""

import ast
import os
import queue
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from dcka.bench.errors import BenchError
from dcka.bench.kernel_cases import Answer
from dcka.bench.kernel_files import plain_build
from dcka.emulation.build import install
from dcka.emulation.micropython import available, launch
from dcka.processes import Child, ProcessGroup
from dcka.scratch import scratch_folder

_ASK = """from kernel_on_node import adversity, case
for text in %r:
    try:
        print("answer", repr(eval(text)))
    except MemoryError as error:
        print("error", repr("no memory: %%s" %% error))
"""
# Between two lines: a round of the largest case takes some hundred milliseconds.
_SILENCE_S = 60.0


def program_text() -> str:
    """The program that is sent to MicroPython."""
    return Path(__file__).with_name("kernel_on_node.py").read_text(encoding="utf-8")


def ask_unix(expressions: Sequence[str], say: Callable[[str], None]) -> Iterator[Answer]:
    """The answers, in order. Raises BenchError where there is no MicroPython or it ends early."""
    if not available():
        raise BenchError(str(available().reason).partition(": use")[0])
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    with scratch_folder("bench") as folder, ProcessGroup() as group:
        install(plain_build(), folder)
        (folder / "kernel_on_node.py").write_text(program_text(), encoding="utf-8")
        (folder / "ask.py").write_text(_ASK % list(expressions), encoding="utf-8")
        child = group.start(
            [sys.executable, *launch("8M", "ask.py")],
            name="bench kernel",
            cwd=folder,
            env={**os.environ, "MICROPYPATH": "."},
            on_line=lines.put,
        )
        for expression in expressions:
            yield _answer(lines, child, expression, say)


def _answer(
    lines: "queue.SimpleQueue[str]", child: Child, expression: str, say: Callable[[str], None]
) -> Answer:
    silent_at = time.monotonic() + _SILENCE_S
    while True:
        try:
            word, _, rest = lines.get(timeout=0.2).partition(" ")
        except queue.Empty:
            if (child.poll() is not None and lines.empty()) or time.monotonic() > silent_at:
                said = child.lines() or ["nothing"]
                raise BenchError(f"MicroPython did not answer {expression}: {said[-1]}") from None
            continue
        if word in ("answer", "error"):
            found: Answer = ast.literal_eval(rest)
            return found
        silent_at = time.monotonic() + _SILENCE_S
        say(f"{word} {rest}")
