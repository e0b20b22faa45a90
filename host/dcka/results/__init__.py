"""Stored runs for Python: `dcka.results.load("last").centroids` (docs/python.md).

It reads what `dcka monitor`, `dcka run` and `dcka demo` have put into the history, and writes nothing.
"""

from dcka.results.run import Run, load, runs

__all__ = ["Run", "load", "runs"]
