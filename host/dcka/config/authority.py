"""The file that [network] ca names: that it holds what nodes and host can use."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dcka.errors import UsageError

if TYPE_CHECKING:
    from dcka.config.sections import NetworkSection
    from dcka.config.source import Source

# A node holds them all in memory, some 600 bytes each. Systems' collections have more than a hundred.
MAX_CERTIFICATES = 4


def found(network: "NetworkSection", folder: Path, source: "Source") -> "NetworkSection":
    """`ca` as a path from the current folder, where it was relative to `folder`, and its file checked.

    Raises UsageError for a file that is not there or cannot be read, that holds a private key, no certificate, a
    damaged one or too many.
    """
    if network.ca is None:
        return network
    file = folder / network.ca
    _require_certificates(file, source.at("network", "ca"))
    return replace(network, ca=file)


def known_to_broker(network: "NetworkSection", source: "Source") -> "NetworkSection":
    """An encrypted broker with the network's `ca`.

    Raises UsageError where the file has a `ca` and a URL that is not encrypted; one of the command line is meant so.
    """
    broker = network.broker
    if network.ca is None or broker is None:
        return network
    if not broker.tls and ("network", "broker") in source.flags:
        return network
    if not broker.tls:
        raise UsageError(
            f"{source.at('network', 'ca')} is there, but the connection to {broker} is not encrypted; write"
            " mqtts:// if it shall be, or remove ca"
        )
    return replace(network, broker=broker.trusting(network.ca))


def _require_certificates(file: Path, where: str) -> None:
    # Here, for it brings OpenSSL with it, and most network files name no authority.
    import ssl

    from dcka.broker.encryption import certificates_in

    try:
        content = file.read_bytes()
        if b"PRIVATE KEY-----" in content:
            raise UsageError(
                f"{where}: {file} holds a private key, which nodes must not get; name the certificate alone"
            )
        count = certificates_in(file)
    except ssl.SSLError as error:
        raise UsageError(
            f"{where}: {file} holds no certificate in PEM form ({error.reason or error})"
        ) from error
    except OSError as error:
        raise UsageError(f"{where}: {file} cannot be read: {error.strerror}") from error
    if not 1 <= count <= MAX_CERTIFICATES:
        raise UsageError(
            f"{where}: {file} holds {count} certificates; a node has room for {MAX_CERTIFICATES}: take those of your"
            " broker's authority alone"
        )
