"""A display that changes on a terminal, and gives the terminal back whenever it is interrupted."""

import contextlib
from collections.abc import Iterator

from rich.console import Console, RenderableType
from rich.live import Live


@contextlib.contextmanager
def live(renderable: RenderableType, console: Console, refresh_hz: float) -> Iterator[None]:
    """Show `renderable` anew `refresh_hz` times a second for the time of the block; its last state stays.

    `with Live(…)` would leave the cursor hidden, and stderr taken, where Ctrl-C comes while it begins or ends.
    """
    display = Live(
        renderable,
        console=console,
        refresh_per_second=refresh_hz,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    try:
        try:
            display.start(refresh=True)
            yield
        finally:
            display.stop()
    finally:
        console.show_cursor(True)
