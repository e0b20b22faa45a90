"""`dcka broker init`, `renew`: make the folder of a broker with locks, and bring it up to date with network.toml."""

import ipaddress
import json
import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from dcka.broker.access import HOST, MONITOR, Rights, access, node_user
from dcka.broker.base import template_text
from dcka.broker.cluster import CONFIGURATION, TEMPLATE
from dcka.broker.cluster_files import Member, configuration
from dcka.broker.folder import BrokerFolder, Doors, read_doors
from dcka.broker.own_address import own_address
from dcka.broker.password_files import read_password_file
from dcka.config import Config, StateError, write_whole
from dcka.errors import UsageError
from dcka.security import mosquitto_files, nats_files
from dcka.security.authority import (
    SERVER_DAYS,
    ends,
    general_name,
    new_authority,
    new_server,
    read_authority,
    write_certificate,
    write_key,
)
from dcka.security.nats_server import server_folder, write_server
from dcka.security.passwords import new_password
from dcka.topology.records import schedule

NATS = "nats"
NODE_PORT = 8883
HOST_PORT = 8884
_OWN_ONLY = 0o700
_SECRET = 0o600
# This computer, whatever else it is called.
_ALWAYS = ("localhost", "127.0.0.1")


@dataclass(frozen=True)
class Wishes:
    """What the caller of `init` said; None: as it was, or the default."""

    names: tuple[str, ...] = ()
    bind: tuple[str, ...] | None = None
    port: int | None = None
    host_port: int | None = None
    days: int = SERVER_DAYS
    new_authority: bool = False
    servers: tuple[Member, ...] = ()


@dataclass(frozen=True)
class Made:
    """What `init` has done. `new_users`: who got a password now; `dropped`: users that are no more."""

    doors: Doors
    ends: datetime
    new_users: tuple[str, ...]
    dropped: tuple[str, ...]
    new_authority: bool


def rights_of(config: Config, doors: Doors) -> tuple[Rights, ...]:
    """Everybody's rights by the network file as it is; nodes that were removed have none, and nobody hears them."""
    near = {
        node: [other for other in others if other not in doors.removed]
        for node, others in config.graph.union().items()
        if node not in doors.removed
    }
    return access(config.network.name, near, schedule(config.graph, "tree", config.topology.root).root)


def init(config: Config, folder: BrokerFolder, wishes: Wishes, now: datetime | None = None) -> Made:
    """Make the folder, or bring it up to date: authority and passwords that are there stay.

    Raises UsageError for names and ports that cannot be, and where the folder is another network's; StateError where
    the disk refuses.
    """
    now = now or datetime.now(UTC)
    before = read_doors(folder)
    if before is not None and before.network != config.network.name:
        raise UsageError(
            f"{folder.path} is the broker of network {before.network}, not of {config.network.name}: name another "
            "folder with --folder"
        )
    doors = (
        _cluster(config, before, wishes) if _is_cluster(before, wishes) else _doors(config, before, wishes)
    )
    _make_folders(folder, [server_folder(folder, member) for member in doors.servers])
    fresh = wishes.new_authority or not (folder.ca.exists())
    if fresh:
        made = new_authority(config.network.name, now)
        write_key(folder.authority_key, made.key)
        write_certificate(folder.ca, made.certificate)
    if fresh or before is None or before.names != doors.names or not folder.certificate.exists():
        _issue(folder, doors, folder.authority_key, wishes.days, now)
    new, dropped = _passwords(config, folder, doors)
    _write_record(folder, doors)
    write_files(config, folder, doors)
    return Made(doors, ends(folder.certificate), new, dropped, fresh)


def renew(
    folder: BrokerFolder, doors: Doors, days: int, names: Sequence[str] = (), authority: Path | None = None
) -> tuple[Doors, datetime]:
    """A new certificate of the same authority, for the same names and `names` besides; what it is and when it ends.

    Raises AuthorityError where the authority cannot sign.
    """
    _check_names(names)
    doors = replace(doors, names=tuple(dict.fromkeys((*doors.names, *names))))
    _issue(folder, doors, authority or folder.authority_key, days, datetime.now(UTC))
    _write_record(folder, doors)
    return doors, ends(folder.certificate)


def write_files(config: Config, folder: BrokerFolder, doors: Doors) -> None:
    """Write what mosquitto reads, from the network file and the passwords that are there.

    Raises UsageError where a user's password is missing, with the call that makes one.
    """
    rights = rights_of(config, doors)
    if doors.servers:
        _write_servers(folder, doors, rights)
        return
    nodes = [one.user for one in rights if one.node is not None]
    others = [one.user for one in rights if one.node is None]
    passwords = _all_passwords(folder, [*others, *nodes])
    texts = {
        mosquitto_files.CONFIGURATION: mosquitto_files.configuration(folder, doors, len(nodes)),
        mosquitto_files.RULES: mosquitto_files.rules(rights),
        mosquitto_files.NODE_PASSWORDS: mosquitto_files.password_file(passwords, nodes),
        mosquitto_files.HOST_PASSWORDS: mosquitto_files.password_file(passwords, others),
    }
    for name, text in texts.items():
        write_whole(folder.path / name, text.encode(), _SECRET)


def _write_servers(folder: BrokerFolder, doors: Doors, rights: Sequence[Rights]) -> None:
    """A folder for each server of a cluster, with all that it needs."""
    passwords = _all_passwords(folder, [one.user for one in rights])
    users = nats_files.users(rights, passwords).encode()
    _make_folders(folder, [server_folder(folder, member) for member in doors.servers])
    template = template_text(TEMPLATE)
    for member in doors.servers:
        text = configuration(
            template, member, doors.servers, doors.network, nats_files.STORE, len(rights), nats_files.LOCKS
        )
        write_server(folder, member, {nats_files.LOCKS.users: users, CONFIGURATION: text.encode()})
    _hand_out_certificate(folder, doors)


def _hand_out_certificate(folder: BrokerFolder, doors: Doors) -> None:
    """All servers have the one certificate, which is for all their names."""
    for member in doors.servers:
        files = {nats_files.LOCKS.key: folder.key, nats_files.LOCKS.certificate: folder.certificate}
        files[nats_files.LOCKS.ca] = folder.ca
        write_server(folder, member, {name: file.read_bytes() for name, file in files.items()})


def set_password(folder: BrokerFolder, user: str, password: str) -> None:
    """Put it where the user's programs find it. Raises StateError."""
    write_whole(folder.secret(user), password.encode() + b"\n", _SECRET)


def set_removed(folder: BrokerFolder, doors: Doors, removed: Sequence[int]) -> Doors:
    """Note which nodes of the network are shut out. Raises StateError."""
    changed = replace(doors, removed=tuple(sorted(set(removed))))
    _write_record(folder, changed)
    return changed


def _doors(config: Config, before: Doors | None, wishes: Wishes) -> Doors:
    _check_names(wishes.names)
    for address in wishes.bind or ():
        _check_address(address)
    if before is None:
        port = wishes.port or NODE_PORT
        fallback = Doors("mosquitto", config.network.name, "", (), (), port, wishes.host_port or port + 1)
        before = replace(fallback, names=_default_names())
        before = replace(before, address=before.names[0])
    names, address = before.names, before.address
    if wishes.names:
        names, address = tuple(dict.fromkeys((*wishes.names, *_ALWAYS))), wishes.names[0]
    doors = replace(
        before,
        names=names,
        address=address,
        bind=before.bind if wishes.bind is None else wishes.bind,
        node_port=wishes.port or before.node_port,
        host_port=wishes.host_port or (wishes.port + 1 if wishes.port else before.host_port),
        removed=tuple(node for node in before.removed if node in config.ids),
    )
    if doors.node_port == doors.host_port:
        raise UsageError(f"port {doors.node_port} is for nodes: host and monitor need another (--host-port)")
    if not 1 <= doors.host_port <= 65535:
        raise UsageError(f"there is no port {doors.host_port}: name one with --host-port")
    return doors


def _is_cluster(before: Doors | None, wishes: Wishes) -> bool:
    return bool(wishes.servers) or (before is not None and bool(before.servers))


def _cluster(config: Config, before: Doors | None, wishes: Wishes) -> Doors:
    """Of a cluster, its servers say by which names and ports it is called. Raises UsageError for what contradicts."""
    if before is not None and not before.servers:
        raise UsageError(
            f"the folder has a broker for {before.engine}: write the cluster's into another, with --folder"
        )
    if wishes.names or wishes.port or wishes.host_port:
        raise UsageError("--name, --port and --host-port are one server's: --servers says those of a cluster")
    bind = wishes.bind
    if bind is not None and len(bind) > 1:
        raise UsageError("a server of a cluster listens on one address, or on all: give one --bind")
    if bind:
        _check_address(bind[0])
    servers = wishes.servers or (before.servers if before is not None else ())
    if bind:
        servers = tuple(replace(server, bind=bind[0]) for server in servers)
    hosts = tuple(dict.fromkeys((*(server.host for server in servers), *_ALWAYS)))
    _check_names(hosts)
    port = servers[0].port
    known = () if before is None else before.removed
    removed = tuple(node for node in known if node in config.ids)
    return Doors(NATS, config.network.name, hosts[0], hosts, bind or (), port, port, removed, servers)


def _default_names() -> tuple[str, ...]:
    name = socket.gethostname()
    found = [own_address(), name, f"{name}.local" if "." not in name else None, *_ALWAYS]
    usable = []
    for one in found:
        try:
            general_name(one or "")
        except ValueError:
            continue
        usable.append(str(one))
    return tuple(dict.fromkeys(usable))


def _check_names(names: Sequence[str]) -> None:
    for name in names:
        try:
            general_name(name)
        except ValueError as error:
            raise UsageError(f"--name {name}: {error}") from error


def _check_address(address: str) -> None:
    try:
        ipaddress.ip_address(address)
    except ValueError:
        raise UsageError(
            f"--bind {address}: that is no address of this computer, such as 192.168.1.10"
        ) from None


def _make_folders(folder: BrokerFolder, servers: Sequence[Path]) -> None:
    places = (
        folder.path,
        folder.authority_key.parent,
        folder.key.parent,
        folder.secrets,
        folder.store,
        *servers,
    )
    try:
        for place in places:
            place.mkdir(mode=_OWN_ONLY, parents=True, exist_ok=True)
            os.chmod(place, _OWN_ONLY)
    except OSError as error:
        raise StateError(f"the folder {folder.path} cannot be made: {error.strerror}") from error
    write_whole(folder.path / ".gitignore", b"# Passwords and keys: never to be committed.\n*\n")


def _issue(folder: BrokerFolder, doors: Doors, key: Path, days: int, now: datetime) -> None:
    """The key first: a broker that starts in between refuses the pair, and one that runs reads neither."""
    authority = read_authority(folder.ca, key, now)
    certificate, own_key = new_server(authority, doors.names, now, days, peer=bool(doors.servers))
    write_key(folder.key, own_key)
    write_certificate(folder.certificate, certificate)
    _hand_out_certificate(folder, doors)


def _passwords(config: Config, folder: BrokerFolder, doors: Doors) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Give a password to who has none, and take away those of users that are no more: who they are."""
    wanted = [HOST, MONITOR, *(node_user(node) for node in config.ids if node not in doors.removed)]
    there = {file.name for file in folder.secrets.iterdir() if not file.name.startswith(".")}
    new = tuple(user for user in wanted if user not in there)
    for user in new:
        set_password(folder, user, new_password())
    dropped = tuple(sorted(there.difference(wanted)))
    for user in dropped:
        folder.secret(user).unlink(missing_ok=True)
    return new, dropped


def _all_passwords(folder: BrokerFolder, users: Sequence[str]) -> Mapping[str, str]:
    missing = [user for user in users if not folder.secret(user).is_file()]
    if missing:
        raise UsageError(f"{missing[0]} has no password in {folder.secrets}: dcka broker init makes one")
    return {user: read_password_file(folder.secret(user)) for user in users}


def _write_record(folder: BrokerFolder, doors: Doors) -> None:
    write_whole(folder.record, (json.dumps(doors.to_json(), indent=1) + "\n").encode(), 0o644)
