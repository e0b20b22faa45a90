"""A small random generator of the core's own, so that a seed means the same draws on every interpreter."""

from hashlib import sha256


class Stream:
    """SHA-256 in counter mode (protocol, section 1): seed 0 ... 2^63 - 1, label any bytes."""

    def __init__(self, seed: int, label: bytes) -> None:
        self._prefix = seed.to_bytes(8, "little") + label
        self._block = b""
        self._at = 0
        self._counter = 0

    def word(self) -> int:
        """The next 32 random bits."""
        if self._at == len(self._block):
            self._block = sha256(self._prefix + self._counter.to_bytes(4, "little")).digest()
            self._counter += 1
            self._at = 0
        word = int.from_bytes(self._block[self._at : self._at + 4], "little")
        self._at += 4
        return word

    def below(self, bound: int) -> int:
        """A number 0 ... bound - 1, each as likely as the other (words beyond the last full multiple are drawn again)."""
        limit = (1 << 32) - (1 << 32) % bound
        word = self.word()
        while word >= limit:
            word = self.word()
        return word % bound
