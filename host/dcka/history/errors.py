"""What the history refuses, or cannot do: sentences for people."""

from dcka.errors import DckaError, UsageError


class HistoryError(DckaError):
    """The history cannot be opened, read or written: where, why, and what to do."""


class HistoryUsageError(HistoryError, UsageError):
    """A history that was named, and is none; or a call that cannot be. Nothing was changed."""


class NoSuchRun(HistoryUsageError):
    """No run of that name is stored, or several are."""
