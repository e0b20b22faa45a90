"""How much memory and processor time the process of emulated nodes takes, as Linux counts it."""

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from dcka.bench.errors import Absent


def resident_kb(pid: int) -> float:
    """VmRSS of a process, in KB. Raises Absent where this system does not say."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text("ascii").splitlines()
    except OSError:
        raise Absent("resident memory is read from /proc, which only Linux has") from None
    return float(next(line.split()[1] for line in lines if line.startswith("VmRSS:")))


def processor_s(pid: int) -> float:
    """Processor time of a process so far, in seconds. Raises Absent where this system does not say."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    except OSError:
        raise Absent("processor time is read from /proc, which only Linux has") from None
    user, system = int(words[11]), int(words[12])
    return (user + system) / os.sysconf("SC_CLK_TCK")


def line(by_nodes: Mapping[int, float]) -> tuple[float, float, float]:
    """(KB a node, KB without nodes, greatest distance from that line as a part of the largest value).

    The least squares' line through resident KB by number of nodes; three numbers of nodes at least.
    """
    nodes = np.array(sorted(by_nodes), dtype=np.float64)
    kb = np.array([by_nodes[int(count)] for count in nodes])
    slope, base = np.polyfit(nodes, kb, 1)
    off = float(np.max(np.abs(slope * nodes + base - kb)) / kb.max())
    return float(slope), float(base), off
