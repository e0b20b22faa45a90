"""What mosquitto reads: its configuration, its rules, its password files. Pure: texts from tables.

Two doors. Nodes come in by one, where the client's id is replaced by its user name: whoever has node 1's password
cannot take node 2's session, which would cut node 2 off and publish its will. Host and monitors come in by the
other, where one user may be there more than once.
"""

import getpass
from collections.abc import Iterable, Mapping, Sequence

from dcka.broker.access import Rights
from dcka.broker.folder import BrokerFolder, Doors
from dcka.security.passwords import mosquitto_hash

CONFIGURATION = "mosquitto.conf"
RULES = "acl"
NODE_PASSWORDS = "passwords-nodes"
HOST_PASSWORDS = "passwords-host"

# The host takes a payload of 1 MiB; the rest is for topic and header. Who sends more is disconnected.
MAX_PACKET = (1 << 20) + 1024
# Verbs and monitors at a time.
HOST_CONNECTIONS = 64


def configuration(folder: BrokerFolder, doors: Doors, nodes: int) -> str:
    """mosquitto.conf for a network of `nodes` nodes, with the folder's paths as they are now."""
    # Half-open connections of nodes that come back count until the keepalive has run out.
    node_connections = 2 * nodes + 16
    # What one client may have waiting; 0 would drop all of it. A host that is slow gets every node's words at once.
    queue = max(1000, 20 * nodes)
    path = folder.path.absolute()
    lines = [
        "# Written by `dcka broker init` from network.toml, and anew at each `dcka broker up`: see docs/broker.md.",
        "per_listener_settings true",
        "",
        "# Nodes and host wait for each other's small messages.",
        "set_tcp_nodelay true",
        "",
        f"max_packet_size {MAX_PACKET}",
        f"max_queued_messages {queue}",
        "max_queued_bytes 67108864",
        "max_inflight_messages 20",
        "persistent_client_expiration 1d",
        "",
        "# Retained messages outlive the broker. Saved at its end, and after so many seconds.",
        "persistence true",
        f"persistence_location {folder.store.absolute()}/",
        "autosave_interval 60",
        "",
        "# Of weight only where root starts it: it would change to a user who cannot read this folder.",
        f"user {getpass.getuser()}",
        "",
        "log_dest stderr",
        *(f"log_type {kind}" for kind in ("error", "warning", "notice", "information")),
    ]
    for address in doors.bind or ("",):
        lines += _listener(folder, doors.node_port, address, node_connections, f"{path}/{NODE_PASSWORDS}")
        lines.append("use_username_as_clientid true")
        lines += _listener(folder, doors.host_port, address, HOST_CONNECTIONS, f"{path}/{HOST_PASSWORDS}")
    return "\n".join(lines) + "\n"


def _listener(folder: BrokerFolder, port: int, address: str, connections: int, passwords: str) -> list[str]:
    return [
        "",
        f"listener {port} {address}".rstrip(),
        f"certfile {folder.certificate.absolute()}",
        f"keyfile {folder.key.absolute()}",
        "tls_version tlsv1.2",
        "allow_anonymous false",
        f"password_file {passwords}",
        f"acl_file {folder.path.absolute()}/{RULES}",
        f"max_connections {connections}",
    ]


def rules(rights: Iterable[Rights]) -> str:
    """The ACL. What no line allows is refused."""
    lines = ["# Written by `dcka broker init` from network.toml."]
    for one in rights:
        lines += ["", f"user {one.user}"]
        both = [topic for topic in one.publish if topic in one.read]
        lines += [f"topic readwrite {topic}" for topic in both]
        lines += [f"topic write {topic}" for topic in one.publish if topic not in both]
        lines += [f"topic read {topic}" for topic in one.read if topic not in both]
    return "\n".join(lines) + "\n"


def password_file(passwords: Mapping[str, str], users: Sequence[str]) -> str:
    """The hashes of these users."""
    return "".join(f"{user}:{mosquitto_hash(passwords[user])}\n" for user in users)
