"""The random numbers that every interpreter draws alike (protocol, section 1)."""

import hashlib

WORDS = 1 << 32


class Stream:
    """The u32 words of SHA-256(seed as 8 bytes ‖ label ‖ i as u32) for i = 0, 1, …; eight words a block.

    All integers are little-endian, within the hashed text and in the digest.
    """

    def __init__(self, seed: int, label: bytes) -> None:
        """Raises ValueError for a seed outside 0 … 2^63 − 1."""
        self._prefix = seed_bytes(seed) + label
        self._taken = 0
        self._block = b""

    def word(self) -> int:
        """The next word, 0 … 2^32 − 1."""
        block, place = divmod(self._taken, 8)
        if place == 0:
            self._block = hashlib.sha256(self._prefix + block.to_bytes(4, "little")).digest()
        self._taken += 1
        return int.from_bytes(self._block[4 * place : 4 * place + 4], "little")

    def below(self, bound: int) -> int:
        """A number 0 … bound − 1, each alike: words from the last full multiple of `bound` on are skipped.

        Even `below(1)` takes a word. Raises ValueError for a bound outside 1 … 2^32.
        """
        if not 1 <= bound <= WORDS:
            raise ValueError(f"The bound {bound} is not within 1 and 2^32.")
        limit = WORDS - WORDS % bound
        word = self.word()
        while word >= limit:
            word = self.word()
        return word % bound

    def wide_below(self, bound: int) -> int:
        """A number 0 … bound − 1, each alike, for bounds up to 2^63: of two words, the first the upper one.

        Pairs from the last full multiple of `bound` below 2^64 on are skipped. Raises ValueError for another bound.
        """
        if not 1 <= bound <= 1 << 63:
            raise ValueError(f"The bound {bound} is not within 1 and 2^63.")
        limit = WORDS**2 - WORDS**2 % bound
        pair = self.word() * WORDS + self.word()
        while pair >= limit:
            pair = self.word() * WORDS + self.word()
        return pair % bound


def seed_bytes(seed: int) -> bytes:
    """The seed as it is hashed: 8 bytes, little-endian. Raises ValueError outside 0 … 2^63 − 1."""
    if not 0 <= seed < 1 << 63:
        raise ValueError(f"The seed {seed} is not within 0 and 2^63 − 1.")
    return seed.to_bytes(8, "little")
