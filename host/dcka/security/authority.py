"""The network's own certificate authority, and the certificate of its broker; keys on P-256.

P-256, since every node can verify it and a handshake with it is short. Profile: RFC 5280.
"""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from dcka.config import write_whole
from dcka.errors import DckaError

AUTHORITY_DAYS = 3650
# A year: what is renewed once a year by one call is not forgotten how to.
SERVER_DAYS = 365
# A node's clock may be behind ours, or in another time zone by mistake.
_EARLIER = timedelta(days=1)
_SECRET = 0o600


class AuthorityError(DckaError):
    """A key or a certificate cannot be used."""


@dataclass(frozen=True)
class Authority:
    """What signs: the certificate that everybody trusts, and its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey


def new_authority(network: str, now: datetime) -> Authority:
    """An authority for one network, for ten years; it signs servers' certificates and no other authority's."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name(f"dcka {network} authority"[:64])
    usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
    certificate = (
        _builder(name, name, key.public_key(), now, now + timedelta(days=AUTHORITY_DAYS))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return Authority(certificate, key)


def new_server(
    authority: Authority, names: Sequence[str], now: datetime, days: int = SERVER_DAYS, peer: bool = False
) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    """A certificate for a broker that is called by `names` (names and addresses), and its key.

    Valid for `days` days, but no longer than the authority. `peer`: with it a server also shows another of its cluster
    who it is.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    ends = min(now + timedelta(days=days), authority.certificate.not_valid_after_utc)
    purposes = [ExtendedKeyUsageOID.SERVER_AUTH, *([ExtendedKeyUsageOID.CLIENT_AUTH] if peer else [])]
    usage = x509.KeyUsage(True, False, False, False, False, False, False, False, False)
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key())
    certificate = (
        _builder(_name(names[0][:64]), authority.certificate.subject, key.public_key(), now, ends)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
        .add_extension(x509.SubjectAlternativeName([general_name(name) for name in names]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(issuer, critical=False)
        .sign(authority.key, hashes.SHA256())
    )
    return certificate, key


def general_name(name: str) -> x509.GeneralName:
    """A host's name or address as a certificate has it. Raises ValueError for what is neither."""
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        if not name or len(name) > 253 or not all(_label(part) for part in name.split(".")):
            raise ValueError(f"{name!r} is neither a host's name nor an address") from None
        return x509.DNSName(name)


def ends(file: Path) -> datetime:
    """When a certificate (PEM) expires. Raises AuthorityError for one that cannot be read."""
    return _certificate(file).not_valid_after_utc


def read_authority(certificate: Path, key: Path, now: datetime | None = None) -> Authority:
    """Raises AuthorityError where one cannot be read, they do not belong together, or it has expired `now` (today)."""
    read = _certificate(certificate)
    try:
        loaded = serialization.load_pem_private_key(key.read_bytes(), password=None)
    except OSError as error:
        raise AuthorityError(
            f"the authority's key {key} cannot be read ({error.strerror}): if it is elsewhere, give --authority FILE"
        ) from error
    except (ValueError, TypeError) as error:
        raise AuthorityError(f"{key} holds no private key that can be used") from error
    if not isinstance(loaded, ec.EllipticCurvePrivateKey) or loaded.public_key() != read.public_key():
        raise AuthorityError(f"{key} is not the key of the authority in {certificate}")
    if read.not_valid_after_utc <= (now or datetime.now(UTC)):
        raise AuthorityError(
            f"the authority in {certificate} has expired: dcka broker init --new-authority makes another, which every "
            "board then has to be given"
        )
    return Authority(read, loaded)


def write_certificate(file: Path, certificate: x509.Certificate) -> None:
    """As PEM; everybody may read it. Raises StateError."""
    write_whole(file, certificate.public_bytes(serialization.Encoding.PEM), 0o644)


def write_key(file: Path, key: ec.EllipticCurvePrivateKey) -> None:
    """As PEM, for its owner alone. Raises StateError."""
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    write_whole(file, key.private_bytes(*form), _SECRET)


def _certificate(file: Path) -> x509.Certificate:
    try:
        return x509.load_pem_x509_certificate(file.read_bytes())
    except OSError as error:
        raise AuthorityError(f"the certificate {file} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise AuthorityError(f"{file} holds no certificate in PEM form") from error


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _label(part: str) -> bool:
    return 0 < len(part) <= 63 and part.isascii() and all(sign.isalnum() or sign in "-_" for sign in part)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime, until: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _EARLIER)
        .not_valid_after(until)
    )
