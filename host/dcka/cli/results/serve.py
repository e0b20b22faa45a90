"""`dcka results serve`: the stored runs over HTTP, for other programs."""

import threading
from dataclasses import dataclass
from pathlib import Path

import click

from dcka.cli.history import opened, place_option
from dcka.cli.options import examples, json_option
from dcka.cli.output import Output
from dcka.cli.until import told_to_end

DEFAULT_PORT = 8090
TURN_S = 0.2


@dataclass
class _Alone:
    """Nothing is streamed here: no answer waits for an end."""

    ending: bool = False


@click.command(
    "serve",
    epilog=examples(
        "dcka results serve                  at http://127.0.0.1:8090/api/v1/, for this computer alone",
        "dcka results serve 9000             on another port; 0 for a free one",
        "dcka results serve 0.0.0.0:9000 --password-file FILE    for others too, with a password",
        "curl http://127.0.0.1:8090/api/v1/runs/last/centroids",
    ),
)
@click.argument("address", metavar="[[ADDRESS:]PORT]", default=str(DEFAULT_PORT))
@place_option
@click.option(
    "--password-file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="What is asked for, its first line; needed beyond loopback.",
)
@json_option
def command(address: str, history: str | None, password_file: Path | None, output: Output) -> int:
    """Serve stored runs over HTTP, to be read and not changed, until Ctrl-C.

    /api/v1/openapi.json describes it; docs/python.md has examples. With --json it prints `url`, `openapi` and `history`
    once it answers. `dcka monitor --web` serves the same beside its page.
    """
    from dcka.cli import logs
    from dcka.monitor.listen import is_loopback, parse_listen
    from dcka.web.api import OPENAPI, PREFIX, application
    from dcka.web.door import Door
    from dcka.web.server import required_password, serving

    logs.begin_service()
    host, port = parse_listen(address, "dcka results serve", DEFAULT_PORT)
    why = "stored runs need a password, for they are not for everybody"
    password = required_password(host, password_file, "dcka results serve", why)
    with (
        opened(history) as store,
        told_to_end() as is_over,
        serving(Door(application(store), password), _Alone(), host, port) as url,
    ):
        here = {"url": f"{url}{PREFIX[1:]}/", "openapi": f"{url}{OPENAPI[1:]}", "history": store.name}
        reach = "" if is_loopback(host) else ", for whoever has the password"
        if output.json_mode:
            output.result(here)
        output.say(f"the runs of {store.name} are at {here['url']}{reach}; {here['openapi']} describes them")
        wait = threading.Event()
        while not is_over():
            wait.wait(TURN_S)
    return 0
