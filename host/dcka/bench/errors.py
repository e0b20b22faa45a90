"""What a benchmark refuses, or could not finish."""

from dcka.errors import DckaError, UsageError


class BenchError(DckaError):
    """A measurement that did not come to its end: which, and after what."""


class BenchUsageError(UsageError):
    """A benchmark that was asked for what it has not."""


class Absent(DckaError):
    """Data that a person has to bring: the case is left out, with this sentence."""
