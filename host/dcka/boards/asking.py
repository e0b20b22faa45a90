"""Asking several boards at once: MicroPython first, then the bootloader where that is needed."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from dcka.boards.errors import BoardError, BoardSilent
from dcka.boards.flashing import Detected

Answer = TypeVar("Answer")
Detect = Callable[[Sequence[str], int], Sequence[Detected | BoardError]]

PATIENCE_S = 5.0
"""Enough for a board that boots, and for a program that survives some Ctrl-C."""


def ask_all(
    ports: Sequence[str],
    ask: Callable[[str], Answer],
    needs_bootloader: Callable[[Answer | BoardError], bool],
    detect: Detect,
    parallel: int,
) -> list[tuple[Answer | BoardError, Detected | BoardError | None]]:
    """For each port what `ask` returned or raised, and what its bootloader said where `needs_bootloader`.

    Asking the bootloader restarts a board. One that was silent before, and whose bootloader answers, is asked once
    more: it may have been in a call that hears no Ctrl-C. Main thread only.
    """

    def tried(port: str) -> Answer | BoardError:
        try:
            return ask(port)
        except BoardError as error:
            return error

    with ThreadPoolExecutor(max(1, parallel)) as pool:
        answers = dict(zip(ports, pool.map(tried, ports), strict=True))
        unclear = [port for port in ports if needs_bootloader(answers[port])]
        found = detect(unclear, parallel) if unclear else ()
        detected = dict(zip(unclear, found, strict=True))
        again = [
            port
            for port in unclear
            if isinstance(answers[port], BoardSilent) and isinstance(detected[port], Detected)
        ]
        answers |= dict(zip(again, pool.map(tried, again), strict=True))
    return [(answers[port], detected.get(port)) for port in ports]
