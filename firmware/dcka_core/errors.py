"""What the core raises on purpose."""


class CoreError(Exception):
    """The root of the core's errors."""


class MessageError(CoreError):
    """A message that is dropped and counted; `reason` is one of the words of the protocol, section 7."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason + (": " + detail if detail else ""))
        self.reason = reason


class DataError(CoreError):
    """A data file that is not what it has to be."""


class RecordError(CoreError):
    """A run record, rows or configuration with a key that is missing, of another kind or out of range."""
