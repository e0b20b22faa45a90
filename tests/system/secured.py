"""A network whose broker has locks, on free loopback ports, for tests."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from servers import require_mosquitto

from dcka.broker.access import HOST, MONITOR
from dcka.broker.folder import BrokerFolder, Doors, door, read_doors
from dcka.broker.url import BrokerUrl
from dcka.config import Config, load, template
from dcka.security.prove import Proof, prove
from dcka.security.server import SecuredBroker
from dcka.security.setup import Wishes, init, rights_of, write_files

NETWORK = "attic"


class Secured:
    """`folder` of the broker and `config` of the network, which lie in `home`. The broker is not started."""

    def __init__(
        self, home: Path, nodes: int = 4, kind: str = "line", bind: tuple[str, ...] = ("127.0.0.1",)
    ) -> None:
        self.home = home
        self.file = home / "network.toml"
        self.file.write_text(
            template(
                {"network": {"name": NETWORK, "nodes": nodes}, "run": {"k": 3}, "topology": {"kind": kind}}
            )
        )
        self.config: Config = load(self.file)
        self.folder = BrokerFolder.beside(self.file)
        ports = free_ports(2)
        init(self.config, self.folder, Wishes((bind[-1],), bind, *ports))

    @property
    def doors(self) -> Doors:
        doors = read_doors(self.folder)
        assert doors is not None
        return doors

    def way(self, role: str = HOST) -> BrokerUrl:
        """How a role reaches it here."""
        return door(self.folder, self.doors, role, self.doors.here)

    def prove(self, nodes: tuple[int, ...] | None = None) -> Proof:
        """The broker's rules, as `dcka broker check` tries them."""
        return prove(
            self.way(),
            self.way(MONITOR),
            NETWORK,
            rights_of(self.config, self.doors),
            self.config.graph.union(),
            nodes,
            [self.doors.address],
        )

    @contextmanager
    def up(self) -> Iterator[SecuredBroker]:
        """The broker, with files as the network file has them."""
        require_mosquitto()
        write_files(self.config, self.folder, self.doors)
        with SecuredBroker(self.folder, self.doors) as broker:
            yield broker

    @contextmanager
    def up_with(self, file: str, old: str, new: str) -> Iterator[SecuredBroker]:
        """The broker with a mistake in one of its files."""
        require_mosquitto()
        write_files(self.config, self.folder, self.doors)
        path = self.folder.path / file
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))
        with SecuredBroker(self.folder, self.doors) as broker:
            yield broker


def free_ports(count: int) -> list[int]:
    """So many different ports of loopback that nobody had a moment ago."""
    with ExitStack() as stack:
        listeners = [stack.enter_context(socket.socket()) for _ in range(count)]
        for listener in listeners:
            listener.bind(("127.0.0.1", 0))
        return [int(listener.getsockname()[1]) for listener in listeners]
