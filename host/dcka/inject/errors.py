"""What can be wrong with a person's data, and how a stretch of it is shown in a message."""

from dcka.errors import UsageError

SHOWN = 40  # characters of a cell in a message: enough to find it by, short enough for one line


class DataError(UsageError):
    """The file, its readings or the data set made of them cannot be used; nothing was sent."""


def shown(text: str) -> str:
    """`text` in quotes for a message: cut after 40 characters, control characters made visible."""
    cut = text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
    visible = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in cut)
    return f"'{visible}'" if '"' in visible else f'"{visible}"'


def listed(names: list[str], most: int = 12) -> str:
    """The names in a row for a message, at most `most` of them and how many more there are."""
    row = ", ".join(name if name.isprintable() else shown(name) for name in names[:most])
    return row if len(names) <= most else f"{row} and {len(names) - most:,} more"
