"""Case D of `dcka bench kernel`, on fewer points: more than the heap holds, the same bits, nothing allocated."""

import pytest

from dcka.bench.kernel_stream import case_d
from dcka.emulation.micropython import available

pytestmark = pytest.mark.skipif(not available(), reason="there is no MicroPython for this platform")


def test_points_from_a_file_are_summed_in_a_small_heap() -> None:
    told: list[str] = []
    record = case_d(told.append, points=40_001, rounds=1)
    assert record["file_bytes"] > record["heap"] > 100_000
    assert (record["blocks"], record["alloc_bytes"], record["bit_identical"]) == (20, 0, True)
    assert record["ok"] == record["met"] == (record["ratio_vs_memory"] >= 0.7)
    assert told == ["20 blocks from a file in a heap of 128K"]
