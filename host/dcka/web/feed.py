"""What the page knows, as values under names; each change has a number: who was away is told what it missed.

A page asks with the last number that it has seen. It gets the values that have changed since, whole, and the names
that have gone. So nothing can come twice or be missed: whoever asks from 0, and whoever asks from any number that he
has seen, end with the same values.
"""

import json
import math
import secrets
from collections import OrderedDict
from threading import Lock
from typing import Any


class Feed:
    """Thread-safe. `name`: of this feed; a number of another one means nothing here."""

    def __init__(self) -> None:
        self.name = secrets.token_hex(6)
        self._lock = Lock()
        self._last = 0
        # In order of the last change; None: it has gone.
        self._values: OrderedDict[str, tuple[int, str | None]] = OrderedDict()

    @property
    def last(self) -> int:
        """The number of the latest change; 0 before the first."""
        return self._last

    def put(self, name: str, value: Any) -> None:
        """Set a value that JSON can hold; NaN and inf become null. The same as before is no change."""
        text = encoded(value)
        with self._lock:
            known = self._values.get(name)
            if known is None or known[1] != text:
                self._set(name, text)

    def drop(self, name: str) -> None:
        """Take a value away. Nothing happens where there is none."""
        with self._lock:
            if self._values.get(name, (0, None))[1] is not None:
                self._set(name, None)

    def drop_all(self, prefix: str) -> None:
        """Take all away whose name begins so."""
        with self._lock:
            for name in [one for one in self._values if one.startswith(prefix)]:
                if self._values[name][1] is not None:
                    self._set(name, None)

    def since(self, number: int) -> tuple[int, str, str]:
        """(number of the latest change, JSON of the values by name, JSON of the names that have gone)."""
        values: list[str] = []
        gone: list[str] = []
        with self._lock:
            for name, (changed, text) in reversed(self._values.items()):
                if changed <= number:
                    break
                if text is not None:
                    values.append(f"{json.dumps(name)}:{text}")
                elif number:
                    gone.append(name)
            return self._last, "{" + ",".join(reversed(values)) + "}", json.dumps(gone)

    def _set(self, name: str, text: str | None) -> None:
        self._last += 1
        self._values[name] = self._last, text
        self._values.move_to_end(name)


def encoded(value: Any) -> str:
    """JSON without blanks. Browsers know no NaN and no inf: these become null."""
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=False)
    except ValueError:
        return json.dumps(_finite(value), separators=(",", ":"))


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    return [_finite(one) for one in value] if isinstance(value, list | tuple) else value
