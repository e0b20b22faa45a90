"""Intervals for `kernel_intervals`: what a local of a kernel can be, and what arithmetic makes of it."""

import ast
from dataclasses import dataclass

LARGEST = 2**31 - 1
POINTS = 32_000
"""Points between two flushes of the accumulator."""
LABELS = 8192


@dataclass(frozen=True)
class Value:
    """lo ≤ value ≤ hi. kind: "int", "address" (lo and hi say nothing), "square" (|x|² of the point), "shifted": the
    value is less by that square than what lo and hi say; "unknown": nothing may be done with it.
    """

    lo: int
    hi: int
    kind: str = "int"


ADDRESS = Value(0, LARGEST, "address")


@dataclass(frozen=True)
class Bounds:
    """n and bits of the readings; `k`: the most clusters; `ordered`: a sorted kernel; `looped`: the one for any n."""

    n: int
    bits: int
    k: int
    ordered: bool = False
    looped: bool = False

    @property
    def top(self) -> int:
        return (1 << self.bits) - 1

    @property
    def table(self) -> int:
        """Bytes of the largest table in `where`."""
        return 4 * (4 + 64 + self.k + self.k * (self.n + 3)) + LABELS

    @property
    def distance(self) -> int:
        return self.n * self.top**2


def joined(one: dict[str, Value], two: dict[str, Value]) -> dict[str, Value]:
    """What holds in either state; a local that only one has is as it is there."""
    out = dict(one)
    for name, value in two.items():
        out[name] = _either(out[name], value) if name in out else value
    return out


def _either(a: Value, b: Value) -> Value:
    kind = a.kind
    if a.kind != b.kind:
        # An address, or the 0 that stands for none; else a local that is used for two things, and set before each.
        kind = "address" if {a.kind, b.kind} == {"address", "int"} else "unknown"
    return ADDRESS if kind == "address" else Value(min(a.lo, b.lo), max(a.hi, b.hi), kind)


def _corners(a: Value, b: Value) -> tuple[int, int]:
    products = [x * y for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    return min(products), max(products)


def _left(a: Value, b: Value) -> tuple[int, int]:
    assert a.lo >= 0 and 0 <= b.lo <= b.hi < 31
    return a.lo << b.lo, a.hi << b.hi


def _right(a: Value, b: Value) -> tuple[int, int]:
    assert 0 <= b.lo <= b.hi < 31 and (a.lo >= 0 or b.lo == b.hi)
    return a.lo >> b.hi, a.hi >> b.lo


def _or(a: Value, b: Value) -> tuple[int, int]:
    assert a.lo >= 0 and b.lo >= 0
    return 0, (1 << max(a.hi, b.hi).bit_length()) - 1


OPPOSITE = {ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt}
ARITHMETIC = {
    ast.Add: lambda a, b: (a.lo + b.lo, a.hi + b.hi),
    ast.Sub: lambda a, b: (a.lo - b.hi, a.hi - b.lo),
    ast.Mult: _corners,
    ast.LShift: _left,
    ast.RShift: _right,
    ast.BitOr: _or,
    ast.BitAnd: lambda a, b: (0, b.hi),
}
