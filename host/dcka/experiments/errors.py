"""What the experiments refuse, or could not finish."""

from dcka.errors import DckaError, UsageError


class ExperimentError(DckaError):
    """An experiment that did not come to its end: where, and what to do."""


class ExperimentUsageError(UsageError):
    """An experiment that was asked for what cannot be, or a folder that does not fit it."""
