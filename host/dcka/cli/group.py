"""The click group `dcka`: verbs loaded when they are called, and listed under their headings."""

import difflib
import importlib
from collections.abc import Mapping

import click

from dcka.cli.verbs import Verb


class VerbGroup(click.Group):
    """A click group over a table of verbs, `verbs`."""

    verbs: Mapping[str, Verb] = {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs in the order of the table."""
        return list(self.verbs)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the verb's module; None for a name that is no verb. Raises TypeError for a broken module."""
        verb = self.verbs.get(cmd_name)
        if verb is None:
            return None
        command = getattr(importlib.import_module(verb.module), "command", None)
        if not isinstance(command, click.Command):
            raise TypeError(f"{verb.module} has no click command named `command`")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does it, but an unknown verb is told the nearest known one."""
        name = args[0]
        if name not in self.verbs and not name.startswith("-"):
            nearest = difflib.get_close_matches(name, self.verbs, n=1)
            hint = f"did you mean {nearest[0]}?" if nearest else f"the verbs are {', '.join(self.verbs)}"
            raise click.UsageError(f'there is no verb "{name}"; {hint}', ctx=ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """One section for each heading, in the order of the table, without importing any verb."""
        width = max((len(name) for name in self.verbs), default=0)
        for heading in dict.fromkeys(verb.group for verb in self.verbs.values()):
            rows = [
                (name.ljust(width), verb.summary)
                for name, verb in self.verbs.items()
                if verb.group == heading
            ]
            with formatter.section(heading):
                formatter.write_dl(rows)
