"""Many nodes, and how fast: `dcka bench scale`. docs/benchmarks.md has the figures.

`cases`: what is measured. `record`: all of it, as one record. `exchange`, `exchange_process`: the same messages by bare
MQTT clients, which nothing computes. `footprint`: memory by node.
"""

from dcka.bench.scale.cases import CASES
from dcka.bench.scale.record import scale, text

__all__ = ["CASES", "scale", "text"]
