"""The manifest of a version for one node, and its signature (docs/protocol.md, section 9)."""

import hashlib
import hmac
import json
from collections.abc import Sequence
from dataclasses import dataclass

from dcka.boards.images import MINIMUM
from dcka.boards.versions import AirVersion
from dcka_core.manifest import MOST_BYTES, PROTOCOL
from dcka_core.signing import node_key
from dcka_core.voice import START

_NEWEST = (1, 999, 999)  # which .mpy files it loads says more


@dataclass(frozen=True)
class Signed:
    """`manifest`: with its code. `contents`: the files in the order of their numbers. `counter`: the manifest's."""

    version: str
    manifest: bytes
    paths: Sequence[str]
    contents: Sequence[bytes]
    counter: int

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(map(len, self.contents))


def signed(
    air: AirVersion, network: str, node: int, counter: int, key: bytes, rollback: bool = False
) -> Signed:
    """The version as `node` takes it. `key`: the network's. `counter`: above all that the node has seen.

    `rollback`: the node may go to older firmware by it. Raises ValueError for more files than a node takes.
    """
    header = {
        "v": 1,
        "network": network,
        "node": node,
        "counter": counter,
        "version": air.version,
        "firmware": air.firmware,
        "micropython": [list(MINIMUM), list(_NEWEST)],
        "mpy": air.mpy,
        "protocol": PROTOCOL,
        "start": START,
        "bytes": sum(map(len, air.files.values())),
    }
    if rollback:
        header["rollback"] = True
    paths = sorted(air.files)
    lines: list[object] = [header]
    lines += [[path, len(air.files[path]), hashlib.sha256(air.files[path]).hexdigest()] for path in paths]
    body = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines).encode()
    # CPython's own HMAC: the node's is checked by it with every update.
    code = hmac.digest(node_key(key, network, node), body, "sha256")
    if len(body) + len(code) > MOST_BYTES:
        raise ValueError(f"a manifest of {len(body)} bytes; nodes take {MOST_BYTES}")
    return Signed(air.version, body + code, paths, [air.files[path] for path in paths], counter)
