"""By which address others reach this computer."""

import ipaddress
import socket

# A documentation address (RFC 5737): no packet is sent to it, it only makes the system choose its own address.
_ELSEWHERE = ("192.0.2.1", 9)


def is_loopback(host: str) -> bool:
    """Whether the host means the very computer that asks."""
    if host.rstrip(".").lower() == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def own_address() -> str | None:
    """This computer's IPv4 address on the network that leads elsewhere; None where it has none."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(_ELSEWHERE)
            address = str(probe.getsockname()[0])
    except OSError:
        return None
    return None if is_loopback(address) else address
