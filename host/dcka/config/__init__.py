"""The network file `network.toml`, and the state folder beside it."""

from dcka.config.addresses import node_wifi
from dcka.config.read import FILE_NAME, Config, find_network_file, from_mapping, load, parse
from dcka.config.state import State, StateError, write_whole
from dcka.config.template import template

__all__ = [
    "FILE_NAME",
    "Config",
    "State",
    "StateError",
    "find_network_file",
    "from_mapping",
    "load",
    "node_wifi",
    "parse",
    "template",
    "write_whole",
]
