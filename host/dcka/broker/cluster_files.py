"""What the servers of a NATS cluster read: a configuration for each. Pure: texts from tables."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from string import Template

# As the embedded broker has it without passwords.
MAX_PAYLOAD = 4 << 20
# NATS' own; a port for each server where several are on one computer.
ROUTE_PORT = 6222


@dataclass(frozen=True)
class Member:
    """One server of a cluster. `host`: how clients and the other servers call it. `port`: for MQTT. `bind`: the local
    address to listen on; None for all.
    """

    name: str
    host: str
    port: int
    route_port: int = ROUTE_PORT
    bind: str | None = None


@dataclass(frozen=True)
class Locks:
    """The files of a server that encrypts, as it finds them from its configuration's folder: certificate and key, the
    authority that the others' certificates are of, and its users.
    """

    certificate: str
    key: str
    ca: str
    users: str


def configuration(
    template: str,
    member: Member,
    members: Sequence[Member],
    cluster: str,
    store: PurePath | str,
    clients: int,
    locks: Locks | None = None,
    max_payload: int = MAX_PAYLOAD,
) -> str:
    """The text of a server's configuration, for so many clients in all.

    Raises ValueError for a number of servers that is even: then the loss of half of them stops all.
    """
    if len(members) % 2 == 0:
        raise ValueError(f"a cluster has an odd number of servers, not {len(members)}")
    scheme = "nats" if locks is None else "tls"
    others = [f"{scheme}://{_host(one.host)}:{one.route_port}" for one in members if one.name != member.name]
    bind = member.bind or "0.0.0.0"
    values = {
        "name": _quoted(member.name),
        "max_payload": str(max_payload),
        # All clients may have to come to one server; and those that come back count twice for a while.
        "max_connections": str(2 * clients + 64),
        "store": _quoted(str(store)),
        "cluster": _quoted(cluster),
        "routes_listen": _quoted(f"{_host(bind)}:{member.route_port}"),
        "routes": json.dumps(others),
        "routes_tls": "" if locks is None else _tls(locks, between_servers=True),
        "listen": _quoted(f"{_host(bind)}:{member.port}"),
        # JetStream has at most 5 copies.
        "replicas": str(min(len(members), 5)),
        "tls": "" if locks is None else _tls(locks, between_servers=False),
        "authorization": "" if locks is None else f"\nauthorization {{\n    include {locks.users}\n}}",
    }
    return Template(template).substitute(values)


def _tls(locks: Locks, between_servers: bool) -> str:
    lines = [f"cert_file: {_quoted(locks.certificate)}", f"key_file: {_quoted(locks.key)}", "timeout: 5"]
    if between_servers:
        # Each shows the other its certificate: nobody else joins the cluster.
        lines += [f"ca_file: {_quoted(locks.ca)}", "verify: true"]
    return "    tls {\n" + "".join(f"        {line}\n" for line in lines) + "    }\n"


def _host(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _quoted(text: str) -> str:
    """NATS reads quotes and backslashes in a string as JSON does."""
    return json.dumps(text, ensure_ascii=False)
