"""The command line `dcka`: one group, a verb a module. Here alone errors are printed and exit codes made."""

import sys
from collections.abc import Mapping, Sequence

from dcka.cli.verbs import VERBS, Verb

__all__ = ["main"]

_EXIT_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None, verbs: Mapping[str, Verb] = VERBS) -> int:
    """`entry.main`, with Ctrl-C heard while what it needs is still being imported."""
    try:
        from dcka.cli import entry
    except KeyboardInterrupt:
        sys.stderr.write("\ndcka: stopped\n")
        return _EXIT_INTERRUPTED
    return entry.main(arguments, verbs)
