"""The starting centres (protocol, section 1)."""

from hashlib import sha256

from dcka_core.randoms import Stream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dcka_core.points import Points


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
        centres.extend(points.point(index))
    return centres


def draw_shared(extents: "list[int]", k: int, seed: int) -> "list[int]":
    """K points of the shared range, the same at every node: K·n integers."""
    stream = Stream(seed, b"shared")
    return [stream.below(extents[j] + 1) for _ in range(k) for j in range(len(extents))]


def start_hash(centres: "list[int]") -> bytes:
    """What a sum says of the centres it was made with: 8 bytes."""
    digest = sha256()
    for value in centres:
        digest.update(value.to_bytes(2, "little"))
    return digest.digest()[:8]


def local_start_hash(seed: int) -> bytes:
    """The hash of step 0 of `local`, where every node has centres of its own."""
    return sha256(b"local" + seed.to_bytes(8, "little")).digest()[:8]
