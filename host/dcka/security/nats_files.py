"""What the servers of a NATS cluster read about users: who may log in, and the subjects that each may use. Pure.

NATS has the topics of MQTT as subjects: `/` is `.`, `+` is `*`, `#` is `>`. Permissions bind retained messages and
wills too. QoS 0 needs no further subject; a session of QoS 1 would need `$MQTT.sub.>`, and dcka has none.
"""

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Mapping

import bcrypt

from dcka.broker.access import Rights
from dcka.broker.cluster_files import ROUTE_PORT, Locks, Member
from dcka.broker.url import DEFAULT_TLS_PORT

FOLDER = "servers"
STORE = "store"
LOCKS = Locks("server.crt", "server.key", "ca.pem", "users.conf")
# bcrypt's least. Stretching protects passwords that people choose; against 192 random bits there is nothing to try, and
# a thousand nodes may come back at once.
COST = 4
_SERVER = re.compile(r"(?P<host>\[[0-9a-fA-F:.]+\]|[^:/\[\]]+)(:(?P<port>\d{1,5})(/(?P<routes>\d{1,5}))?)?")
_STANDARD = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_BCRYPT = b"./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


def subjects(topic_filter: str) -> list[str]:
    """The subjects of a filter of MQTT: two for `a/#`, which includes `a`.

    Raises ValueError for what has no such subject: a level that is empty, or has a letter of meaning to NATS.
    """
    levels = topic_filter.split("/")
    for level in levels:
        if not level or (level not in "+#" and not _plain(level)):
            raise ValueError(f"the topic {topic_filter!r} has no subject in NATS: {level!r}")
    found = ".".join({"+": "*", "#": ">"}.get(level, level) for level in levels)
    return [found.removesuffix(".>"), found] if found.endswith(".>") else [found]


def permissions(rights: Rights) -> dict[str, object]:
    """What a user may publish and read, as NATS has it. What is not allowed is refused: a SUBSCRIBE with an answer."""
    publish = [subject for topic in rights.publish for subject in subjects(topic)]
    read = [subject for topic in rights.read for subject in subjects(topic)]
    # An empty list would allow all.
    nothing = {"deny": [">"]}
    return {
        "publish": {"allow": publish} if publish else nothing,
        "subscribe": {"allow": read} if read else nothing,
    }


def users(rights: Iterable[Rights], passwords: Mapping[str, str]) -> str:
    """The file that every server includes: a line for each user, with the hash of the password."""
    lines = [
        json.dumps(
            {
                "user": one.user,
                "password": nats_hash(one.user, passwords[one.user]),
                "permissions": permissions(one),
                "allowed_connection_types": ["MQTT"],
            }
        )
        for one in rights
    ]
    head = "# Written by dcka from network.toml: see docs/cluster.md.\n"
    return head + "users: [\n" + "".join(f"  {line}\n" for line in lines) + "]\n"


def nats_hash(user: str, password: str) -> str:
    """The bcrypt hash of a random password.

    The same each time: a server that reads its users again cuts off those whose hash has changed, and nobody else shall
    notice that one has a new password. So the salt comes from the password, which is nobody else's.
    """
    salt = hashlib.sha256(f"dcka {user} {password}".encode()).digest()[:16]
    letters = base64.b64encode(salt).rstrip(b"=").translate(bytes.maketrans(_STANDARD, _BCRYPT))
    return bcrypt.hashpw(password.encode(), b"$2b$%02d$" % COST + letters).decode()


def parsed(servers: str) -> tuple[Member, ...]:
    """The servers that `--servers` names: HOST[:PORT[/ROUTES]], with commas between them; ROUTES is the port for the
    other servers.

    The first one on a host has the usual ports, the next ones those above. Raises ValueError for fewer than three or an
    even number, for a host that is none, and a port that cannot be.
    """
    found: list[Member] = []
    for text in (part.strip() for part in servers.split(",")):
        named = _SERVER.fullmatch(text)
        if named is None:
            raise ValueError(f"{text!r} is no HOST, HOST:PORT or HOST:PORT/PORT")
        host = named["host"].strip("[]")
        same = [one for one in found if one.host == host]
        port = int(named["port"] or max((one.port + 1 for one in same), default=DEFAULT_TLS_PORT))
        routes = int(named["routes"] or max((one.route_port + 1 for one in same), default=ROUTE_PORT))
        if not all(1 <= one <= 65535 for one in (port, routes)):
            raise ValueError(f"{text!r}: a port is a number from 1 to 65535")
        found.append(Member(_name(host, len(same)), host, port, routes))
    if len(found) < 3 or len(found) % 2 == 0:
        raise ValueError(
            f"a cluster has 3, 5 or 7 servers, of which most have to live, not {len(found)}; for one server there is "
            "--engine mosquitto"
        )
    doors = [(one.host, port) for one in found for port in (one.port, one.route_port)]
    if len(set(doors)) < len(doors):
        raise ValueError("two servers on one computer have the same port")
    if len({one.name for one in found}) < len(found):
        raise ValueError(f"two servers would have the same name: {', '.join(one.name for one in found)}")
    return tuple(found)


def _name(host: str, before: int) -> str:
    """Of a folder and a server: letters, digits, `.`, `-`, `_`."""
    plain = "".join(sign if sign.isalnum() or sign in ".-_" else "-" for sign in host)
    return plain if not before else f"{plain}-{before + 1}"


def _plain(level: str) -> bool:
    return all(sign.isascii() and (sign.isalnum() or sign in "-_") for sign in level)
