"""A key of the network file: a dataclass field that carries its check, its default and the template's comment."""

from dataclasses import dataclass, field
from typing import Any

from dcka.config.checks import Check


@dataclass(frozen=True)
class KeyInfo:
    """What a key has to be, its default as in TOML (None: not given), the template's comment and example."""

    check: Check
    raw: object
    comment: str
    example: object = None


def key(raw: object, check: Check, comment: str, example: object = None) -> Any:
    """A dataclass field for a key; `raw` is converted by `check`, so that a default is a legal value too."""
    default = None if raw is None else check.convert(raw)
    return field(default=default, metadata={"key": KeyInfo(check, raw, comment, example)})
