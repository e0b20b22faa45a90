"""The root of every error that the host package raises on purpose.

The command line prints such an error as one line and exits with `exit_code`; anything else is a fault
of ours and shows its traceback.
"""


class DckaError(Exception):
    """What went wrong, where, which value, and what to do: one line for a person."""

    exit_code = 1


class UsageError(DckaError):
    """The call, a file or a configuration is not what it has to be; nothing was started."""

    exit_code = 2
