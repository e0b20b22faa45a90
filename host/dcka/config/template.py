"""The commented network.toml that `dcka init` writes."""

import json
from collections.abc import Mapping

from dcka.config.checks import bare
from dcka.config.keys import KeyInfo
from dcka.config.sections import SECTIONS, keys_of

_HEAD = """\
# A network of nodes that cluster their readings together.
# A key that is left out has its default; the file docs/network-toml.md lists them, and what values may be.
"""
_TITLES = {
    "network": "Who belongs to the network, and where they meet.",
    "run": "One clustering.",
    "topology": "Who hears whom, phase by phase.",
    "data": "How a table of readings becomes the nodes' data.",
    "emulation": "Nodes on this computer.",
    "wifi": "How boards join the network.",
    "sensors": "What nodes measure, and keep on their flash.",
    "sleep": "Nodes that sleep deeply between clusterings.",
    "stream": "Clustering what nodes sense, again and again.",
    "update": "New versions of firmware and settings, over the air.",
}


def template(values: Mapping[str, Mapping[str, object]] | None = None) -> str:
    """The text of a network file with `values` (section → key → value as TOML has it) in place of defaults.

    Without values it reads as the defaults. The values are not checked here: parse the text.
    """
    values = values or {}
    return _HEAD + "".join(_section(section, values.get(section, {})) for section in SECTIONS)


def toml_value(value: object) -> str:
    """A string, a number, a truth value a list or a table of such, as TOML writes it. Raises TypeError for others."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # A JSON string is a TOML string, but for DEL, and for what lies beyond 16 bits where it is escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml_value(item) for item in value) + "]"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{bare(name)} = {toml_value(item)}" for name, item in value.items()) + " }"
    raise TypeError(f"no TOML for {value!r}")


def _section(section: str, values: Mapping[str, object]) -> str:
    lines = ["", f"[{section}]  # {_TITLES[section]}"]
    for name, info in keys_of(section).items():
        lines.extend(f"# {line}" for line in info.comment.splitlines())
        lines.append(_assignment(name, info, values.get(name)))
    return "\n".join(lines) + "\n"


def _assignment(name: str, info: KeyInfo, value: object) -> str:
    if value is None and info.raw is None:
        return f"# {name} = {toml_value(info.example)}"
    return f"{name} = {toml_value(info.raw if value is None else value)}"
