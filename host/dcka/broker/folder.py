"""The folder of a broker with locks, beside network.toml: what is where, and as whom to log in by what is in it.

`dcka broker init` writes it (`dcka.security`). Whoever connects needs `broker.json`, `ca.pem` and a password of
`secrets/`; a computer that only runs nodes or verbs needs no more.
"""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from dcka.broker.access import HOST
from dcka.broker.cluster_files import Member
from dcka.broker.password_files import read_password_file
from dcka.broker.url import BrokerUrl, joined
from dcka.errors import UsageError

FOLDER_NAME = "broker"
VERSION = 1


@dataclass(frozen=True)
class BrokerFolder:
    """The paths below `path`. Nothing has to be there."""

    path: Path

    @classmethod
    def beside(cls, network_file: Path | None, explicit: Path | None = None) -> "BrokerFolder":
        """The folder that `--folder` names, or `broker` beside the network file (or in the current folder)."""
        return cls(explicit or (network_file.parent if network_file else Path()) / FOLDER_NAME)

    @property
    def record(self) -> Path:
        """broker.json: where the broker listens, and by which names it is called."""
        return self.path / "broker.json"

    @property
    def ca(self) -> Path:
        """The certificate of the network's own authority."""
        return self.path / "ca.pem"

    @property
    def authority_key(self) -> Path:
        """What signs. It is in a folder of its own, so that it can be kept elsewhere."""
        return self.path / "authority" / "ca.key"

    @property
    def certificate(self) -> Path:
        """The broker's certificate."""
        return self.path / "server" / "broker.crt"

    @property
    def key(self) -> Path:
        """The key of the broker's certificate."""
        return self.path / "server" / "broker.key"

    @property
    def secrets(self) -> Path:
        """A file for each user, with the password."""
        return self.path / "secrets"

    def secret(self, user: str) -> Path:
        """The file with the password of a user."""
        return self.secrets / user

    @property
    def store(self) -> Path:
        """What the broker keeps: retained messages."""
        return self.path / "store"


@dataclass(frozen=True)
class Doors:
    """Where a secured broker listens, from its broker.json.

    `address`: the name by which nodes are told to call it, one of `names`, those of its certificate. `bind`: the local
    addresses to listen on; none: all. `node_port` lets in nodes, `host_port` host and monitor; they may be the same.
    `removed`: ids of the network whose credentials have died. `servers`: of a cluster; the ports are then those of its
    first.
    """

    engine: str
    network: str
    address: str
    names: tuple[str, ...]
    bind: tuple[str, ...]
    node_port: int
    host_port: int
    removed: tuple[int, ...] = ()
    servers: tuple[Member, ...] = ()

    @property
    def here(self) -> str:
        """The address by which this computer reaches a broker that it runs."""
        return next((one for one in self.bind if one not in ("0.0.0.0", "::")), "127.0.0.1")

    def to_json(self) -> dict[str, object]:
        """As broker.json has it."""
        return {
            "v": VERSION,
            "engine": self.engine,
            "network": self.network,
            "address": self.address,
            "names": list(self.names),
            "bind": list(self.bind),
            "node_port": self.node_port,
            "host_port": self.host_port,
            "removed": list(self.removed),
            **({"servers": [asdict(server) for server in self.servers]} if self.servers else {}),
        }


def read_doors(folder: BrokerFolder) -> Doors | None:
    """What broker.json says; None where there is none. Raises UsageError for one that is broken."""
    file = folder.record
    try:
        record = json.loads(file.read_bytes())
        if record["v"] != VERSION:
            raise UsageError(
                f"{file} is of another version of dcka ({record['v']}): write it anew with dcka broker init"
            )
        return Doors(
            engine=str(record["engine"]),
            network=str(record["network"]),
            address=str(record["address"]),
            names=tuple(str(name) for name in record["names"]),
            bind=tuple(str(address) for address in record["bind"]),
            node_port=int(record["node_port"]),
            host_port=int(record["host_port"]),
            removed=tuple(int(node) for node in record["removed"]),
            servers=tuple(Member(**server) for server in record.get("servers", ())),
        )
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{file} is damaged ({error}): write it anew with dcka broker init") from error


def require_doors(folder: BrokerFolder) -> Doors:
    """As `read_doors`. Raises UsageError where there is none, with the call that makes one."""
    doors = read_doors(folder)
    if doors is None:
        raise UsageError(
            f"there is no broker with passwords in {folder.path}: make one with dcka broker init"
        )
    return doors


def door(folder: BrokerFolder, doors: Doors, role: str = HOST, address: str | None = None) -> BrokerUrl:
    """How `role` (host, monitor) reaches the broker: its port, its password, verified by the folder's authority.

    `for_node` of it is a node's way. `address`: None for the one that the nodes are told. Raises UsageError where the
    password cannot be had. Of a cluster all addresses.
    """
    one = BrokerUrl(
        address or doors.address,
        doors.host_port,
        role,
        read_password_file(folder.secret(role)),
        tls=True,
        ca=folder.ca,
        secrets=folder.secrets,
        node_port=doors.node_port,
    )
    if not doors.servers:
        return one
    return joined([replace(one, host=to.host, port=to.port, node_port=None) for to in doors.servers])


def with_credentials(url: BrokerUrl, folder: BrokerFolder, role: str = HOST) -> BrokerUrl:
    """`url` with the passwords of `folder`, where it is the way to that very broker: encrypted, no user named, and to
    be verified by the folder's authority or none in particular. Else `url` as it is: passwords go to nobody else.
    """
    if not url.tls or url.username is not None:
        return url
    doors = read_doors(folder)
    if doors is None or (url.ca is not None and not _same(url.ca, folder.ca)):
        return url
    if doors.servers:
        # Some of the servers, in the order that the URL has.
        own = {(one.host, one.port): one for one in door(folder, doors, role).addresses}
        named = [own.get((one.host, one.port)) for one in url.addresses]
        known = [one for one in named if one is not None]
        return joined(known).trusting(url.ca or folder.ca) if len(known) == len(named) else url
    if url.others or url.port not in (doors.node_port, doors.host_port):
        return url
    return replace(door(folder, doors, role, url.host), ca=url.ca or folder.ca)


def _same(one: Path, other: Path) -> bool:
    try:
        return one.read_bytes() == other.read_bytes()
    except OSError:
        return False
