"""`dcka broker up` for a cluster: the servers of it that run on this computer, until Ctrl-C."""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from dcka.cli.broker.bare import LOOK_S
from dcka.cli.output import Output
from dcka.cli.until import told_to_end

if TYPE_CHECKING:
    from dcka.broker.folder import BrokerFolder, Doors
    from dcka.config import Config, State
    from dcka.security.nats_server import SecuredServers


def run_servers(
    config: "Config",
    place: "BrokerFolder",
    doors: "Doors",
    names: Sequence[str],
    note: "State",
    output: Output,
) -> int:
    """Start them, say where they listen, and wait; one that ends by itself leaves the others running."""
    from dcka.security.nats_server import SecuredServers
    from dcka.security.server import certificate_note
    from dcka.security.setup import write_files

    soon = certificate_note(place)
    write_files(config, place, doors)
    with (
        SecuredServers(place, doors, names) as running,
        _noted(running, place, note) as pid,
        told_to_end() as told,
    ):
        here = {member.name: f"mqtts://{member.host}:{member.port}" for member in running.members}
        output.result(
            {
                "url": str(running.url),
                "engine": doors.engine,
                "nodes_url": str(running.url.for_nodes()),
                "host_url": str(running.url),
                "servers": here,
                "listens": [f"{member.bind or '*'}:{member.port}" for member in running.members],
                "pid": pid,
                "folder": place.path.absolute(),
            },
            ", ".join(here.values()),
        )
        output.say(
            f"{len(here)} of the {len(doors.servers)} servers of the cluster run here, until Ctrl-C; it lets clients "
            f"in while {len(doors.servers) // 2 + 1} of them run, and for the first time once all do"
        )
        if soon:
            output.warn(f"note: {soon}")
        return _watch(running, told, output)


def _watch(running: "SecuredServers", told: "Callable[[], bool]", output: Output) -> int:
    """Until Ctrl-C, or until the last server has ended by itself; 1 where one has."""
    gone: set[str] = set()
    while True:
        ended = running.ended()
        for name in ended.keys() - gone:
            gone.add(name)
            last = " | ".join(line.strip() for line in ended[name])
            output.error(f"the server {name} has ended by itself; it said: {last}")
        if told() or running.pid is None:
            return 1 if gone else 0
        time.sleep(LOOK_S)


@contextlib.contextmanager
def _noted(running: "SecuredServers", place: "BrokerFolder", note: "State") -> Iterator[int | None]:
    """While they run, the other verbs find them; where more servers run here, the first one's note is for all."""
    from dcka.mqtt.address import forget_broker, note_broker, note_file

    pid = running.pid
    if pid is not None and note.read(note_file(note)) is None:
        note_broker(note, running.url, pid, place.path)
    try:
        yield pid
    finally:
        if pid is not None:
            forget_broker(note, pid)
