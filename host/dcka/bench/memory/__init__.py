"""What heap a node needs: `dcka bench memory`. docs/memory.md explains the record, and what follows for boards.

`parts`: live bytes by part, on MicroPython. `smallest`: the smallest heap that passes. `budget`: what is allowed.
"""

from dcka.bench.memory.budget import exceeded, read_budget
from dcka.bench.memory.parts import FORMS, measure_parts
from dcka.bench.memory.record import memory, text
from dcka.bench.memory.smallest import CASES, TIMES, passes

__all__ = ["CASES", "FORMS", "TIMES", "exceeded", "measure_parts", "memory", "passes", "read_budget", "text"]
