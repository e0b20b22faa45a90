"""What the core raises on purpose."""


class CoreError(Exception):
    """A record, a configuration or a data file that is not what it has to be; the text names it."""


class DataError(CoreError):
    """A block of the data file that is not as it was stored; the text names file and block."""


class MessageError(CoreError):
    """A message that is dropped and counted; `reason` is one of the words of the protocol, section 7."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
