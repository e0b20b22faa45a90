"""HMAC-SHA-256 (RFC 2104), which MicroPython's hashlib has not, and a comparison that does not tell by its time."""

from hashlib import sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_BLOCK = 64
DIGEST = 32


class Hmac:
    """The code of what `update` is given, piece by piece. key: bytes of any length."""

    def __init__(self, key: bytes) -> None:
        if len(key) > _BLOCK:
            key = sha256(key).digest()
        key = key + bytes(_BLOCK - len(key))
        self._outer = bytes([byte ^ 0x5C for byte in key])
        self._inner: Any = sha256(bytes([byte ^ 0x36 for byte in key]))

    def update(self, piece: "bytes | memoryview") -> None:
        """Add to what the code is of."""
        self._inner.update(piece)

    def digest(self) -> bytes:
        """32 bytes. Once: MicroPython's hash ends with its digest."""
        outer: Any = sha256(self._outer)
        outer.update(self._inner.digest())
        code: bytes = outer.digest()
        return code


def same(one: bytes, other: bytes) -> bool:
    """Whether two digests are equal, in a time that does not tell where they differ."""
    if len(one) != len(other):
        return False
    different = 0
    for index in range(len(one)):
        different |= one[index] ^ other[index]
    return not different


def node_key(key: bytes, network: str, node: int) -> bytes:
    """The key of one node, from the network's: who reads one node's flash can sign for that node alone."""
    code = Hmac(key)
    code.update(("dcka update\0%s\0%d" % (network, node)).encode())
    return code.digest()
