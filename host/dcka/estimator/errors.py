"""What the estimator refuses: sentences for people, and the classes that scikit-learn's users catch."""

from dcka.errors import DckaError, UsageError


class ParameterError(UsageError, ValueError):
    """A parameter, or data that do not fit it: which, its value, what to do."""


class GridWarning(UserWarning):
    """A column that has lost its shape on the grid that all columns share: bring them to units of like spread."""


class UnfinishedError(DckaError, RuntimeError):
    """Simulated nodes that did not come to an end: a fault of ours, or a schedule without one."""
