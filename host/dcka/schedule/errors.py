"""What this package raises on purpose."""

from dcka.errors import UsageError


class ScheduleError(UsageError):
    """A schedule that does not do what it has to, or that cannot be made of what was given: says where."""
