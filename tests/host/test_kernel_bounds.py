"""32-bit safety of the kernels in machine code, by arithmetic (kernel_intervals), and that the checker finds faults."""

import ast
from dataclasses import replace
from pathlib import Path

import pytest
from kernel_intervals import OverflowFound, check
from kernel_values import Bounds

CORE = Path(__file__).resolve().parents[2] / "firmware" / "dcka_core"
# The most dimensions for each number of bits, and the fewest (protocol, section 1).
BITS = {1: 15, 2: 15, 3: 14, 8: 14, 9: 13, 32: 13, 33: 12, 128: 12, 129: 11, 512: 11}
UNROLLED = {2: 15, 3: 14, 4: 14, 5: 14, 6: 14, 7: 14, 8: 14, 16: 13}
SORTED = {1: 15, 2: 15, 3: 14}
# K that a run record can hold: 16 bits; the most that the choice gives to a sorted kernel; the most with labels.
MOST_K, MOST_SORTED_K, MOST_LABELLED = 65535, 4096, 256

CASES = [
    *[("kernel_viper_bare", Bounds(n, bits, MOST_K, looped=True)) for n, bits in BITS.items()],
    *[
        ("kernel_viper", Bounds(n, bits, k, looped=True))
        for n, bits in BITS.items()
        for k in (MOST_K, MOST_LABELLED)
    ],
    *[
        (f"kernel_viper_{n}", Bounds(n, bits, k))
        for n, bits in UNROLLED.items()
        for k in (MOST_K, MOST_LABELLED)
    ],
    *[
        (f"kernel_viper_sorted_{n}", Bounds(n, bits, k, ordered=True))
        for n, bits in SORTED.items()
        for k in (MOST_SORTED_K, MOST_LABELLED)
    ],
]


def source(name: str) -> str:
    return (CORE / f"{name}.py").read_text(encoding="utf-8")


def test_every_kernel_is_checked() -> None:
    assert {name for name, _ in CASES} == {path.stem for path in CORE.glob("kernel_viper*.py")}


@pytest.mark.parametrize(("name", "bounds"), CASES)
def test_nothing_leaves_32_bits_within_the_documented_bounds(name: str, bounds: Bounds) -> None:
    check(source(name), bounds)


@pytest.mark.parametrize(("name", "bounds"), CASES)
def test_one_more_bit_is_found(name: str, bounds: Bounds) -> None:
    with pytest.raises(OverflowFound):
        check(source(name), replace(bounds, bits=bounds.bits + 1))


PLANTED = [
    ("kernel_viper_2", "best & 65535", "best", "sums"),
    ("kernel_viper_2", "best -= square", "best -= d", ""),
    ("kernel_viper_2", "best += square", "best += best", ""),
    ("kernel_viper_2", "twice0 = x0 + x0", "twice0 = x0 << 2", ""),
    ("kernel_viper_8", "best += 1", "best += best", ""),
    ("kernel_viper_8", "e = row[9] - x7", "e = row[9] * x7", ""),
    ("kernel_viper_8", "row[1] = best + 3 >> 2", "row[1] = best + 3", ""),
    ("kernel_viper_8", "row[1] = best + 3 >> 2", "row[1] = best - 9 >> 2", ""),
    ("kernel_viper_8", "sums[d + 8] += x7", "sums[d + 8] += x7 << 3", ""),
    ("kernel_viper_sorted_2", "<< 16 | index", "<< 17 | index", ""),
    ("kernel_viper_sorted_2", "d *= d", "d *= 2 * d", ""),
    ("kernel_viper_sorted_2", "credit = allowed << 3", "credit = allowed << 16", ""),
    ("kernel_viper_sorted_2", "best -= square", "best -= 1", ""),
    ("kernel_viper", "low = k * (n + 1)", "low = k * (n + 1) * 65", ""),
    (
        "kernel_viper_sorted_3",
        "middle = (bucket << shift) + half",
        "middle = (bucket << shift + 20) + half",
        "",
    ),
    ("kernel_viper", "row[0] = index", "row[0] = index - 1", ""),
    ("kernel_viper", "best = 1073741823", "best = 1073741824", "literal"),
]


@pytest.mark.parametrize(("name", "right", "wrong", "said"), PLANTED)
def test_a_planted_overflow_is_found(name: str, right: str, wrong: str, said: str) -> None:
    text = ast.unparse(ast.parse(source(name)))
    assert right in text, text
    found = []
    for bounds in [bounds for other, bounds in CASES if other == name]:
        try:
            check(text.replace(right, wrong), bounds)
        except OverflowFound as error:
            found.append(str(error))
    assert found and all(said in words for words in found)
