"""`dcka broker rotate` and `remove`: a user's credentials change or die while all the others stay connected."""

import time
from dataclasses import dataclass, replace

from dcka.broker import BrokerUrl, NotAllowed, probe
from dcka.broker.access import HOST, MONITOR, TOPICS, node_user
from dcka.broker.folder import BrokerFolder, Doors, door
from dcka.broker.password_files import read_password_file
from dcka.config import Config
from dcka.errors import DckaError, UsageError
from dcka.mqtt import Connection, Message
from dcka.mqtt.inbox import Inbox
from dcka.mqtt.statuses import OFFLINE
from dcka.security.passwords import new_password
from dcka.security.server import reload
from dcka.security.setup import set_password, set_removed, write_files

# mosquitto reads its files again within a turn of its loop.
APPLIED_S = 10.0
_AGAIN_S = 0.05
# For what a broker that answers has retained.
_LOOK_S = 1.0
# The kinds of topics that a node alone may clear.
_OWN = {topic.suffix.partition("/")[0] for topic in TOPICS if topic.node and not topic.host}


class NotApplied(DckaError):
    """The broker still goes by what was before."""


@dataclass(frozen=True)
class Changed:
    """`reloaded`: whether a broker that runs here goes by it; `let_in_again`: the node had been shut out."""

    user: str
    reloaded: bool
    let_in_again: bool = False


@dataclass(frozen=True)
class Removed:
    """`cleared`: topics on which something of the node was retained; None where no broker ran to be asked."""

    user: str
    reloaded: bool
    cleared: tuple[str, ...] | None
    in_network_file: bool


def user_named(name: str, config: Config) -> tuple[str, int | None]:
    """The user that a person means by a node's id, `n3`, `host` or `monitor`, and its id. Raises UsageError."""
    if name in (HOST, MONITOR):
        return name, None
    digits = name.removeprefix("n")
    if not (digits.isascii() and digits.isdigit()):
        raise UsageError(f"{name!r} is neither a node's id nor {HOST} nor {MONITOR}")
    return node_user(int(digits)), int(digits)


def rotate(config: Config, folder: BrokerFolder, doors: Doors, name: str) -> Changed:
    """A new password for a user; the old one is dead as soon as the broker has read its files again.

    Raises UsageError for who is no user of the network; NotApplied where the broker that runs here does not go by it.
    """
    user, node = user_named(name, config)
    if node is not None and node not in config.ids:
        raise UsageError(f"there is no node {node} in {config.source.name}")
    back = node in doors.removed
    if node is not None and back:
        doors = set_removed(folder, doors, [one for one in doors.removed if one != node])
    old = None if back else _current(folder, user)
    set_password(folder, user, new_password())
    write_files(config, folder, doors)
    reloaded = reload(folder)
    if reloaded:
        _await_applied(folder, doors, user, node, old)
        if node is not None:
            _say_offline(config, folder, doors, node)
    return Changed(user, reloaded, back)


def remove(config: Config, folder: BrokerFolder, doors: Doors, name: str) -> Removed:
    """End a node's credentials, its connection, and what is retained of it. Once more: once more.

    What the node itself may have retained where nobody else may write is cleared in its own name, by a password that
    lives for that long. Raises UsageError for who is no node; NotApplied as `rotate`.
    """
    user, node = user_named(name, config)
    if node is None:
        raise UsageError(f"{name} is no node: dcka broker rotate {name} shuts out who knows its password")
    if node not in config.ids and not folder.secret(user).exists():
        raise UsageError(f"there is no node {node} in {config.source.name}, and it has no password")
    old = _current(folder, user)
    known = node in config.ids
    cleared = _cleared_as_itself(config, folder, doors, user, node) if known else None
    folder.secret(user).unlink(missing_ok=True)
    if known:
        doors = set_removed(folder, doors, [*doors.removed, node])
    write_files(config, folder, doors)
    reloaded = reload(folder)
    if reloaded:
        _await_refused(folder, doors, node, old)
        # Its end may have brought its will, and who was faster than we were may have said more.
        cleared = _united(cleared, _cleared_by_host(config, folder, doors, node))
    return Removed(user, reloaded, cleared, known)


def _united(one: tuple[str, ...] | None, other: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted({*(one or ()), *other}))


def _cleared_as_itself(
    config: Config, folder: BrokerFolder, doors: Doors, user: str, node: int
) -> tuple[str, ...] | None:
    """Throw the node out by another password, and with that clear what nobody else may; None where no broker runs."""
    here = set_removed(folder, doors, [one for one in doors.removed if one != node])
    set_password(folder, user, new_password())
    write_files(config, folder, here)
    if not reload(folder):
        return None
    _await_applied(folder, here, user, node, None)
    host = door(folder, here, address=here.here)
    with Connection(host, config.network.name, role="remove") as connection:
        found = [one for one in _retained(connection, node) if one.partition("/")[0] in _OWN]
    with Connection(host.as_node(node), config.network.name, role=f"remove-{node}") as connection:
        # Only its neighbours may see what a faulty node has retained among its sums: cleared unseen.
        unseen = [f"epoch/{node}", *(f"x/{phase}/{node}" for phase in range(len(config.graph.phases)))]
        for suffix in [*found, *unseen]:
            connection.publish(suffix, b"", retain=True)
        connection.flush()
    return tuple(found)


def _cleared_by_host(config: Config, folder: BrokerFolder, doors: Doors, node: int) -> tuple[str, ...]:
    with Connection(
        door(folder, doors, address=doors.here), config.network.name, role="remove"
    ) as connection:
        found = [one for one in _retained(connection, node) if one.partition("/")[0] not in _OWN]
        for suffix in found:
            connection.publish(suffix, b"", retain=True)
        connection.flush()
    return tuple(found)


def _say_offline(config: Config, folder: BrokerFolder, doors: Doors, node: int) -> None:
    """Put the status of a node that was cut off right: mosquitto publishes no will of a session that it ends itself."""
    with Connection(
        door(folder, doors, address=doors.here), config.network.name, role="rotate"
    ) as connection:
        inbox = Inbox(connection, {})
        connection.subscribe(f"status/{node}")
        inbox.until(lambda: inbox.statuses.get(node) is not None, _LOOK_S, f"status/{node}")
        status = inbox.statuses.get(node)
        if status is None or not status.online:
            return
        said = {name: status.record[name] for name in ("v", "node", "boot", "nonce")}
        connection.publish(f"status/{node}", {**said, "state": OFFLINE}, retain=True)
        connection.flush()


def _retained(connection: Connection, node: int) -> list[str]:
    """The topics of the node, without the prefix, on which the host sees something retained."""
    names = [topic.suffix for topic in TOPICS if topic.host_reads and "<i>" in topic.suffix]
    connection.subscribe(*(name.replace("<i>", str(node)) for name in names))
    found: set[str] = set()
    deadline = time.monotonic() + _LOOK_S
    while (left := deadline - time.monotonic()) > 0:
        arrived = connection.next(left)
        if isinstance(arrived, Message) and arrived.retained and arrived.payload:
            found.add(arrived.suffix)
    return sorted(found)


def _current(folder: BrokerFolder, user: str) -> str | None:
    """The password so far; None where there is none that can be read."""
    try:
        return read_password_file(folder.secret(user))
    except UsageError:
        return None


def _await_applied(folder: BrokerFolder, doors: Doors, user: str, node: int | None, old: str | None) -> None:
    """Return once the broker takes the new password, and the old one no more. Raises NotApplied."""
    url = _way(folder, doors, user, node)
    deadline = time.monotonic() + APPLIED_S
    while not _lets_in(url) or (old is not None and _lets_in(replace(url, password=old))):
        if time.monotonic() > deadline:
            raise NotApplied(
                f"the broker does not go by the new password of {user} after {APPLIED_S:g} s: end it, and start it "
                "again with dcka broker up"
            )
        time.sleep(_AGAIN_S)


def _await_refused(folder: BrokerFolder, doors: Doors, node: int, old: str | None) -> None:
    """Return once the broker takes a node's last password no more. Raises NotApplied."""
    url = BrokerUrl(doors.here, doors.node_port, node_user(node), old, tls=True, ca=folder.ca)
    deadline = time.monotonic() + APPLIED_S
    while old is not None and _lets_in(url):
        if time.monotonic() > deadline:
            raise NotApplied(
                f"the broker still lets {node_user(node)} in after {APPLIED_S:g} s: end it, and start it again with "
                "dcka broker up"
            )
        time.sleep(_AGAIN_S)


def _way(folder: BrokerFolder, doors: Doors, user: str, node: int | None) -> BrokerUrl:
    if node is None:
        return door(folder, doors, user, doors.here)
    # Not `door`: the host's password may be the one that has just changed.
    password = read_password_file(folder.secret(user))
    return BrokerUrl(doors.here, doors.node_port, user, password, tls=True, ca=folder.ca)


def _lets_in(url: BrokerUrl) -> bool:
    """Raises BrokerUnavailable where that is no question of the password."""
    try:
        probe(url)
    except NotAllowed:
        return False
    return True
