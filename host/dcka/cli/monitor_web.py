"""`--web`: the options of the monitor's page, and the page beside the verb that listens."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

import click

from dcka.cli.output import Output
from dcka.errors import UsageError

if TYPE_CHECKING:
    from dcka.config import State
    from dcka.history import History
    from dcka.monitor import NetworkState
    from dcka.web.control import Control
    from dcka.web.live import Live

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
Points = Callable[[str], dict[str, Any] | None]

DEFAULT_PORT = 8080


def web_options(command: Decorated) -> Decorated:
    """`--web`, `--password-file`, `--open`; the function gets `web`, `password_file` and `open_page`."""
    for option in reversed(
        (
            click.option(
                "--web",
                is_flag=False,
                flag_value=str(DEFAULT_PORT),
                metavar="[[ADDRESS:]PORT]",
                help=f"Serve a live page there; without an address on loopback, without a port on {DEFAULT_PORT}.",
            ),
            click.option(
                "--password-file",
                type=click.Path(path_type=Path, dir_okay=False),
                metavar="FILE",
                help="The page's password, its first line; needed beyond loopback.",
            ),
            click.option("--open", "open_page", is_flag=True, help="Open the page in the browser."),
        )
    ):
        command = option(command)
    return command


@dataclass(frozen=True)
class Wish:
    """Where the page is to be, checked: the rest can only fail at the machine."""

    address: str
    port: int
    password: str | None
    open_page: bool


def web_wish(web: str | None, password_file: Path | None, open_page: bool) -> Wish | None:
    """What the options come to; None without `--web`. Raises UsageError, before anything is started."""
    if web is None:
        if password_file is not None or open_page:
            raise UsageError("--password-file and --open go with --web")
        return None
    from dcka.monitor.listen import parse_listen
    from dcka.web.server import required_password

    address, port = parse_listen(web, "--web", DEFAULT_PORT)
    return Wish(address, port, required_password(address, password_file), open_page)


@contextlib.contextmanager
def page(
    wish: Wish,
    state: "NetworkState",
    where: str,
    guard: Lock,
    control: "Control",
    folder: "State | None" = None,
    points: Points | None = None,
    history: "History | None" = None,
) -> Iterator["Live"]:
    """Serve the page for the time of the block, and say where it is. What the block gives is to be fed by `watch`."""
    from dcka.monitor.listen import is_loopback
    from dcka.web.api import router
    from dcka.web.app import Served, create_app
    from dcka.web.live import Live
    from dcka.web.server import serving

    live = Live(state, where, guard)
    served = Served(live, control, folder, points, history)
    stored = () if history is None else (router(history),)
    with serving(create_app(served, wish.password, stored), served, wish.address, wish.port) as url:
        reach = "" if is_loopback(wish.address) else ", for whoever has the password"
        Output().say(f"the page is at {url}{reach}")
        if wish.open_page:
            import webbrowser

            webbrowser.open(url)
        yield live
