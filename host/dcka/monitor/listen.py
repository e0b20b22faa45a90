"""Where something is to be served over HTTP, as people write it."""

import ipaddress

from dcka.errors import UsageError

LOOPBACK = "127.0.0.1"


def parse_listen(text: str, option: str = "--metrics", example: int = 9108) -> tuple[str, int]:
    """(address, port) of `PORT`, which is on loopback, `ADDRESS:PORT`, or `[IPV6]:PORT`. Raises UsageError."""
    address, colon, port = text.rpartition(":")
    bare = address.removeprefix("[").removesuffix("]")
    whole = (
        address in (bare, f"[{bare}]") and (":" in bare) == (address != bare) and bool(bare) == bool(colon)
    )
    if not whole or not (port.isascii() and port.isdigit() and int(port) <= 65535):
        raise UsageError(
            f"{option} {text}: give a port, such as {example}, or address and port, such as 0.0.0.0:{example}"
        )
    return bare or LOOPBACK, int(port)


def is_loopback(address: str) -> bool:
    """Whether only this computer reaches it."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"
