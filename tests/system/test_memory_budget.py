"""A node's heap is within its budget (firmware/budget.toml): growth is a decision."""

from pathlib import Path

import pytest

from dcka.bench import BenchError
from dcka.bench.memory import exceeded, measure_parts, passes, read_budget
from dcka.bench.memory.smallest import smallest
from dcka.emulation.micropython import available

pytestmark = pytest.mark.skipif(not available(), reason="there is no MicroPython for this platform")


@pytest.fixture(scope="module")
def measured():
    return measure_parts("mpy")


def test_every_part_is_within_its_budget(measured) -> None:
    assert exceeded(measured, read_budget()) == []


def test_the_budget_is_not_far_above_what_is_needed(measured) -> None:
    """A budget with much room would not notice growth."""
    for part, allowed in read_budget()["parts"].items():
        assert allowed <= measured["parts"][part] * 1.1 + 128, part


def test_the_demonstration_passes_on_the_heap_of_the_budget() -> None:
    assert passes("demo", read_budget()["smallest_heap_kb"]["demo"], times=1) is not None


def test_a_heap_that_is_too_small_is_found_out() -> None:
    assert passes("tree", 64, times=1) is None


def test_growth_is_one_sentence_with_part_bytes_budget_and_the_way_out(measured) -> None:
    parts = {**measured["parts"], "tree": 9999, "new": 10}
    sentences = exceeded(
        {"parts": parts, "names": 290}, {"parts": {**parts, "tree": 9000} | {"new": 10}, "names": 280}
    )
    assert sentences == [
        "tree takes 9999 bytes of heap, 999 more than its budget of 9000: make it smaller (docs/memory.md says how), "
        "or raise parts.tree in firmware/budget.toml and say why",
        "the firmware has 290 names, 10 more than its budget of 280: take words that it has already, or raise names in "
        "firmware/budget.toml and say why",
    ]
    [unknown] = exceeded({"parts": {"new": 10}, "names": 0}, {"parts": {}, "names": 0})
    assert unknown == "new takes 10 bytes of heap and has no budget: give it one in firmware/budget.toml"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("names = ", "Invalid value"),
        ("names = 3\n", "parts is None"),
        ("names = 'x'\n[parts]\n", "names is 'x'"),
    ],
)
def test_a_budget_that_cannot_be_read_is_a_sentence(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "budget.toml").write_text(text)
    with pytest.raises(BenchError, match=says):
        read_budget(tmp_path / "budget.toml")


@pytest.mark.parametrize("least", [33, 64, 87, 512])
def test_the_bisection_finds_the_least_size(least: int) -> None:
    asked = []

    def fits(heap_kb: int) -> bool:
        asked.append(heap_kb)
        return heap_kb >= least

    assert smallest(fits, 32, 512) == least
    assert len(asked) <= 11
    with pytest.raises(BenchError, match="512 KB"):
        smallest(lambda _: False)
