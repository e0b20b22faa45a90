"""A mosquitto with locks for benchmarks: encrypted, with passwords and rules that can be changed; on loopback.

`dcka broker init` makes the real thing. This one can be made wrong on purpose: an expired certificate, one of a foreign
authority, other passwords, a rule that denies.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from dcka.bench.errors import Absent
from dcka.broker import BrokerUrl, await_broker
from dcka.broker.base import HOST, free_port
from dcka.broker.mosquitto import find_mosquitto
from dcka.processes import Child, ProcessGroup
from dcka.scratch import scratch_folder
from dcka.security.authority import (
    SERVER_DAYS,
    new_authority,
    new_server,
    write_certificate,
    write_key,
)
from dcka.security.passwords import mosquitto_hash

USER, PASSWORD = "nodes", "right"
STRANGER, STRANGERS = "stranger", "strange"
"""Another user, with a password of his own."""


class Issuer:
    """A certificate authority, in a folder. `ca`: the file that trusts it."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        # It has been there for as long as a certificate that has expired by now.
        self._authority = new_authority(name, datetime.now(UTC) - timedelta(days=2 * SERVER_DAYS))
        self.ca = folder / f"{name}.pem"
        write_certificate(self.ca, self._authority.certificate)

    def server(self, name: str, expired_days: int = 0) -> tuple[Path, Path]:
        """A server's certificate for loopback and its key; with `expired_days`, one that ended so long ago."""
        begun = datetime.now(UTC) - timedelta(days=SERVER_DAYS + expired_days if expired_days else 0)
        certificate, key = new_server(self._authority, [HOST, "localhost"], begun)
        files = self._folder / f"{name}.crt", self._folder / f"{name}.key"
        write_certificate(files[0], certificate)
        write_key(files[1], key)
        return files


@dataclass(frozen=True)
class Locks:
    """`pair`: certificate and key. `passwords`: by user. `rules`: mosquitto's ACL."""

    pair: tuple[Path, Path]
    passwords: dict[str, str]
    rules: str


class LockedBroker:
    """`nodes`: the encrypted door, which asks for a password. `host`: the same, as the same user; `plain`: a door
    without locks, for who looks at what happens. `good`: the locks as they should be. From the main thread only."""

    def __init__(self, folder: Path, group: ProcessGroup) -> None:
        found = find_mosquitto()
        if found is None:
            raise Absent(
                "mosquitto is not installed here: apt-get install mosquitto, or brew install mosquitto"
            )
        self._program = found
        self._folder = folder
        self._group = group
        self.issuer = Issuer(folder, "authority")
        self.good = Locks(
            self.issuer.server("good"),
            {USER: PASSWORD, STRANGER: STRANGERS},
            f"user {USER}\ntopic readwrite #\n",
        )
        self.plain = BrokerUrl(HOST, free_port())
        self.nodes = BrokerUrl(HOST, free_port(), USER, PASSWORD, tls=True, ca=self.issuer.ca)
        self.host = self.nodes

    @property
    def pid(self) -> int | None:
        """The broker's process id, while it runs."""
        running = [child.pid for child in self._group.children if child.poll() is None]
        return running[0] if running else None

    def as_stranger(self) -> BrokerUrl:
        """The encrypted door, for the other user."""
        return replace(self.nodes, username=STRANGER, password=STRANGERS)

    def start(self, locks: Locks | None = None) -> Child:
        """Start it, or start it anew, with these locks; on the same ports."""
        for child in self._group.children:
            child.stop()
            self._group.forget(child)
        configuration = self._folder / "mosquitto.conf"
        configuration.write_text(self._text(locks or self.good))
        child = self._group.start([self._program, "-c", configuration], name="mosquitto with locks")
        await_broker(self.plain)
        return child

    def _text(self, locks: Locks) -> str:
        passwords, rules = self._folder / "passwords", self._folder / "acl"
        for file in (passwords, rules):
            file.touch(mode=0o600)
        passwords.write_text(
            "".join(f"{user}:{mosquitto_hash(one)}\n" for user, one in locks.passwords.items())
        )
        rules.write_text(locks.rules)
        lines = (
            "per_listener_settings true",
            "persistence false",
            "set_tcp_nodelay true",
            "user root",
            f"listener {self.plain.port} {HOST}",
            "allow_anonymous true",
            f"listener {self.nodes.port} {HOST}",
            "allow_anonymous false",
            f"certfile {locks.pair[0]}",
            f"keyfile {locks.pair[1]}",
            f"password_file {passwords}",
            f"acl_file {rules}",
        )
        return "\n".join(lines) + "\n"


@contextlib.contextmanager
def locked_mosquitto() -> Iterator[LockedBroker]:
    """It runs, as it should be. Raises Absent where there is no mosquitto."""
    with scratch_folder("locks") as folder, ProcessGroup() as group:
        broker = LockedBroker(folder, group)
        broker.start()
        yield broker
