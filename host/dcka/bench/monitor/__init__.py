"""What a monitor stands: `dcka bench monitor`. docs/history.md has the figures.

`record`: all parts, as one record. `telemetry`: from a publisher in another process, over a broker, into a history on
the disk; `publisher`: that process. `listing`: ten thousand stored runs. `paint`:
from a message to the painted page, in a real browser (`chromium`).
"""

from dcka.bench.monitor.record import PARTS, monitor, text

__all__ = ["PARTS", "monitor", "text"]
