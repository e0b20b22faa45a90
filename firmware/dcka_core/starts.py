"""Random numbers and the starting centres drawn with them (protocol, section 1): a seed means the same on every
interpreter.
"""

from hashlib import sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dcka_core.points import Points
    from dcka_core.record import Run


class Stream:
    """SHA-256 in counter mode: seed 0 ... 2^63 - 1, label any bytes."""

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
        self._at += 4
        return int.from_bytes(self._block[self._at - 4 : self._at], "little")

    def below(self, bound: int) -> int:
        """0 ... bound - 1, each as likely as the others: words beyond the last full multiple are drawn again."""
        limit = (1 << 32) - (1 << 32) % bound
        word = self.word()
        while word >= limit:
            word = self.word()
        return word % bound


def draw_local(points: "Points", k: int, seed: int, node: int) -> "list[int] | None":
    """K different points of the node's own, K·n integers; None where it has fewer than K points."""
    if points.count < k:
        return None
    stream = Stream(seed, b"local" + node.to_bytes(4, "little"))
    drawn: list[int] = []
    while len(drawn) < k:
        index = stream.below(points.count)
        if index not in drawn:
            drawn.append(index)
    centres: list[int] = []
    for index in drawn:
        block, _ = points.blocks[index // points.per_block]
        start = index % points.per_block * points.n
        centres.extend([block[start + j] for j in range(points.n)])
    return centres


def draw_own(run: "Run", points: "Points", node: int) -> "list[int] | None":
    """The centres that a node starts from where none are common; None where it has fewer than K points, or sums by
    labels.
    """
    if run.init == "partition":
        return None
    centres = draw_local(points, run.k, run.seed, node)
    if centres and run.init != "local":
        from dcka_core.ordered import in_order

        return in_order(centres, run.n, run.init)
    return centres


def draw_shared(extents: "list[int]", k: int, seed: int) -> "list[int]":
    """K points of the shared range, the same at every node: K·n integers."""
    stream = Stream(seed, b"shared")
    return [stream.below(extents[j] + 1) for _ in range(k) for j in range(len(extents))]
