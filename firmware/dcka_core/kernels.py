"""Which kernel works on a node's points, by (n, K, m): chosen when a run takes its first step, and then dropped."""

import gc
import sys
from array import array

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dcka_core.lloyd import Kernel, Plan
    from dcka_core.points import Points

_FLAT = (2, 3, 4, 5, 6, 7, 8, 16)
_SORTED = (1, 2, 3)
# What `dcka bench kernel --table` found: sorting the centres pays from so many on (with n = 1 from 2 on), and
# remembering labels.
_SORTED_FROM = 8
_LABELS_FROM = 4
# Of a step's work; beyond, finding out how far the centres are from each other costs more than it saves.
_SEPARATION_SHARE = 8
# A label is a byte. More points than this would need a piece that a fragmented heap refuses.
_LABELS_K, _LABELS_POINTS = 256, 8192
# Of the free heap, what labels may take: a node must not fail for the sake of speed.
_LABELS_SHARE = 8
# With less than this free, what a table takes may be what the next message lacks.
_TIGHT_BYTES = 4096
_BARE = "kernel_viper_bare"
# Within these the sorted kernels' numbers stay in 31 bits.
_SORTED_K = 4096


def plan(points: "Points", k: int) -> "Plan":
    """(k, kernel, prepare, where, name) for these points: `prepare(centres, n, k, where)` fills `where` for a step.

    prepare and where are None for a kernel that takes the centres as they are.
    """
    free = _free()
    name = _fastest(points.n, k) if free >= _TIGHT_BYTES else _BARE
    labels = _labels_fit(name, points, k, free)
    while True:
        try:
            module = _take(name)
            if name == _BARE:
                return k, module.accumulate, None, None, name
            return k, module.accumulate, module.prepare, where_for(name, points, k, labels), name
        except (ImportError, ValueError, SyntaxError):
            # No emitter for this machine: SyntaxError from source, ValueError from a foreign .mpy, ImportError on
            # CPython.
            return k, _plain(points), None, None, "plain"
        except MemoryError:
            # A scattered heap: rather slow than not at all.
            if name == _BARE:
                raise
            if not labels:
                name = _BARE
            labels = False


def bare(points: "Points") -> "Kernel":
    """A kernel for these points that needs no table, and so takes any part of a block in any order."""
    if sys.implementation.name == "micropython":
        _forget("kernels")
    try:
        kernel: Kernel = _take(_BARE).accumulate
    except (ImportError, ValueError, SyntaxError):
        return _plain(points)
    return kernel


def _plain(points: "Points") -> "Kernel":
    plain = _take("kernel")
    kernel: Kernel = plain.accumulate_2d if points.n == 2 else plain.accumulate
    return kernel


def _fastest(n: int, k: int) -> str:
    """The module in machine code for n dimensions and K clusters."""
    if n in _SORTED and (2 if n == 1 else _SORTED_FROM) <= k <= _SORTED_K:
        return "kernel_viper_sorted_%d" % n
    return "kernel_viper_%d" % n if n in _FLAT else "kernel_viper"


def _free() -> int:
    """Bytes of the heap; as many as anybody needs, where there is no such thing."""
    if sys.implementation.name != "micropython":
        return 1 << 30
    _forget("kernels")
    gc.collect()
    free: int = gc.mem_free()
    return free


def where_for(name: str, points: "Points", k: int, labels: bool) -> "array[int]":
    """The table of a kernel, empty: four words of header, for `sorted` 32 to find rows, the rows, and for
    labels K more, and the labels.

    Header: where the next label is, how far labels are trusted, whether there are labels (2: from a step before), and
    the shift that makes one of 32 from a first coordinate, or whether separations are to be worked out.
    """
    n = points.n
    ordered = "sorted" in name
    words = (
        4 + k * (n + (3 if n <= 4 and name != "kernel_viper" else 2)) + (32 + k * labels if ordered else 0)
    )
    where = array("i", bytes(4 * words + (points.count + 3) // 4 * 4 * labels))
    where[2] = int(labels)
    where[3] = max(0, points.bits - 5) if ordered else int(_SEPARATION_SHARE * k <= points.count)
    return where


def _labels_fit(name: str, points: "Points", k: int, free: int) -> bool:
    """Whether to remember labels. Without separations they tell next to nothing."""
    if "sorted" not in name and _SEPARATION_SHARE * k > points.count:
        return False
    return _LABELS_FROM <= k <= _LABELS_K and points.count <= min(_LABELS_POINTS, free // _LABELS_SHARE)


def _take(name: str) -> "Any":
    """A module of the core that stays in memory only as long as somebody has its functions."""
    module: Any = getattr(__import__("dcka_core." + name), name)
    if sys.implementation.name == "micropython":
        _forget(name)
    return module


def _forget(name: str) -> None:
    """Take a module of the core from where the interpreter keeps it."""
    if sys.modules.pop("dcka_core." + name, None):
        delattr(sys.modules["dcka_core"], name)
