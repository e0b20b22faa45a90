"""The command line `dcka`: one group, a verb a module. Here alone errors are printed and exit codes made."""

from dcka.cli.entry import main

__all__ = ["main"]
