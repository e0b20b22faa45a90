"""A mosquitto with locks for benchmarks: encrypted, with passwords and rules that can be changed; on loopback.

`dcka broker init` makes the real thing. This one can be made wrong on purpose: an expired certificate, one of a foreign
authority, other passwords, a rule that denies.
"""

import base64
import contextlib
import hashlib
import ipaddress
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from dcka.bench.errors import Absent
from dcka.broker import BrokerUrl, await_broker
from dcka.broker.base import HOST, free_port
from dcka.broker.mosquitto import find_mosquitto
from dcka.processes import Child, ProcessGroup
from dcka.scratch import scratch_folder

USER, PASSWORD = "nodes", "right"
STRANGER, STRANGERS = "stranger", "strange"
"""Another user, with a password of his own."""
_ROUNDS = 101  # mosquitto's own default for its hashes


class Issuer:
    """A certificate authority, in a folder. `ca`: the file that trusts it. Raises Absent without `cryptography`."""

    def __init__(self, folder: Path, name: str) -> None:
        x509, _, serialization, ec, _ = _library()
        self._folder = folder
        self._name = x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, name)])
        self._key = ec.generate_private_key(ec.SECP256R1())
        usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
        signed = (
            self._builder(self._name, self._key.public_key(), -400, 400)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False)
            .sign(self._key, _library()[1].SHA256())
        )
        self.ca = folder / f"{name}.pem"
        self.ca.write_bytes(signed.public_bytes(serialization.Encoding.PEM))

    def server(self, name: str, until_days: int = 1) -> tuple[Path, Path]:
        """A server's certificate for loopback and its key; of yesterday's end where `until_days` is −1."""
        x509, hashes, serialization, ec, usages = _library()
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, name)])
        names = [x509.IPAddress(ipaddress.ip_address(HOST)), x509.DNSName("localhost")]
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        signed = (
            self._builder(subject, key.public_key(), -30, until_days)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .add_extension(x509.ExtendedKeyUsage([usages.SERVER_AUTH]), critical=False)
            .add_extension(issuer, critical=False)
            .sign(self._key, hashes.SHA256())
        )
        files = self._folder / f"{name}.crt", self._folder / f"{name}.key"
        files[0].write_bytes(signed.public_bytes(serialization.Encoding.PEM))
        form = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        files[1].touch(mode=0o600)
        files[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, *form))
        return files

    def _builder(self, subject: Any, key: Any, begins_days: int, ends_days: int) -> Any:
        x509 = _library()[0]
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now + timedelta(days=begins_days))
            .not_valid_after(now + timedelta(days=ends_days))
        )


def _library() -> tuple[Any, Any, Any, Any, Any]:
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
    except ImportError:
        raise Absent("certificates are made by the package cryptography: pip install cryptography") from None
    return x509, hashes, serialization, ec, x509.oid.ExtendedKeyUsageOID


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
        passwords.write_text("".join(f"{user}:{_hash(one)}\n" for user, one in locks.passwords.items()))
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
    """It runs, as it should be. Raises Absent where there is no mosquitto, or nobody to make certificates."""
    with scratch_folder("locks") as folder, ProcessGroup() as group:
        broker = LockedBroker(folder, group)
        broker.start()
        yield broker


def _hash(password: str) -> str:
    """As mosquitto_passwd writes it: PBKDF2 with SHA-512."""
    salt = os.urandom(12)
    digest = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, _ROUNDS)
    return f"$7${_ROUNDS}${base64.b64encode(salt).decode()}${base64.b64encode(digest).decode()}"
