"""network.toml, read and validated: the file, or a mapping of the same shape, becomes a `Config`."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dcka.config import authority
from dcka.config.addresses import require_addresses
from dcka.config.checks import Unfit, bare, shown
from dcka.config.living import SensorsSection, SleepSection, StreamSection, UpdateSection
from dcka.config.sections import (
    SECTIONS,
    DataSection,
    EmulationSection,
    NetworkSection,
    RunSection,
    TopologySection,
    WifiSection,
    keys_of,
)
from dcka.config.source import Source, parse_toml, read_toml
from dcka.errors import UsageError
from dcka.topology.families import SETTINGS, Shape, named
from dcka.topology.gossip_rows import window_slots
from dcka.topology.graph import Graph, TopologyError, named_ids

if TYPE_CHECKING:
    from dcka.broker.url import BrokerUrl

FILE_NAME = "network.toml"
DEFAULT_KIND = "experiment1"

_PASSWORD = "password"
_NEVER_HERE = (
    "a password is kept in no file of a network, for such files are copied and shown; remove it, and set"
)
_PASSWORD_VARIABLES = {"wifi": "DCKA_WIFI_PASSWORD", "network": "DCKA_BROKER_PASSWORD"}
"""Section → the environment variable for the password that people look for there."""


@dataclass(frozen=True)
class Config:
    """A validated network: its sections, and `graph`, who hears whom, jointly connected.

    `file`: the network file, None where there is none. Change it by `replaced` alone, which validates anew.
    """

    file: Path | None
    network: NetworkSection
    run: RunSection
    topology: TopologySection
    data: DataSection
    emulation: EmulationSection
    wifi: WifiSection
    sensors: SensorsSection
    sleep: SleepSection
    update: UpdateSection
    stream: StreamSection
    graph: Graph
    source: Source = field(repr=False)

    @property
    def ids(self) -> tuple[int, ...]:
        """The nodes' ids, ascending."""
        return self.network.nodes

    def replaced(self, section: str, flags: Mapping[str, str] | None = None, **values: object) -> "Config":
        """The same with other values of a section, given as TOML would have them; None leaves one as it is.

        For what a person says on the command line: errors speak of `--max-steps` for `max_steps`, or of what
        `flags` has for it. Raises UsageError as `load` does.
        """
        said = {name: value for name, value in values.items() if value is not None}
        names: dict[tuple[str, ...], str] = {
            (section, name): (flags or {}).get(name, f"--{name.replace('_', '-')}") for name in said
        }
        source = replace(self.source, flags={**self.source.flags, **names})
        parts: dict[str, Any] = {name: getattr(self, name) for name in SECTIONS}
        parts[section] = replace(parts[section], **_checked(section, said, source))
        return _config(self.file, parts, source)

    def with_broker(self, url: "BrokerUrl") -> "Config":
        """The same with a broker that `dcka.mqtt.address` has found: its authority and passwords stay with it."""
        return replace(self, network=replace(self.network, broker=url, ca=url.ca or self.network.ca))


def find_network_file(explicit: Path | None = None, folder: Path | None = None) -> Path:
    """The file that `--network` names, or network.toml in `folder` (the current one).

    Raises UsageError where it is not there, with the call that writes one.
    """
    if explicit is not None:
        if not explicit.is_file():
            what = "is no file" if explicit.exists() else "does not exist"
            raise UsageError(f"--network {explicit} {what}; write one with: dcka init --network {explicit}")
        return explicit
    file = FILE_NAME if folder is None else str(folder / FILE_NAME)
    if not Path(file).is_file():
        raise UsageError(
            f"there is no {FILE_NAME} in {folder or 'this folder'}; "
            f"write one with: dcka init, or name one with: --network FILE"
        )
    return Path(file)


def load(file: Path) -> Config:
    """The network that `file` describes.

    Raises UsageError, one line with file, line, section, key and value: for what is no TOML, an unknown
    section or key (with the nearest known one), a value of a wrong type or out of its range, and a topology
    that does not fit the nodes or is not jointly connected.
    """
    tables, source = read_toml(file)
    return _validated(file, tables, source)


def parse(text: str, name: str = FILE_NAME) -> Config:
    """As `load`, for a text."""
    tables, source = parse_toml(text, name)
    return _validated(None, tables, source)


def from_mapping(
    values: Mapping[str, Mapping[str, object]],
    name: str = "the configuration",
    flags: Mapping[tuple[str, ...], str] | None = None,
) -> Config:
    """As `load`, for sections of keys with values as TOML would have them; {} gives the defaults.

    Errors speak of `name`, or of the option that `flags` has for a (section, key).
    """
    return _validated(None, values, Source(name, flags=flags or {}))


def _validated(file: Path | None, tables: Mapping[str, object], source: Source) -> Config:
    for section, table in tables.items():
        _require_known_section(section, table, source)
    parts = {name: _section(name, tables.get(name, {}), source) for name in SECTIONS}
    parts["network"] = authority.found(parts["network"], file.parent if file else Path(), source)
    return _config(file, parts, source)


def _config(file: Path | None, parts: Mapping[str, Any], source: Source) -> Config:
    network = authority.known_to_broker(parts["network"], source)
    run, topology = parts["run"], parts["topology"]
    if run.slots > run.max_slots:
        raise UsageError(
            f"{source.stated('run', 'slots', run.slots)} is more than max_slots = {run.max_slots}, "
            f"so no step would come to its end; raise max_slots"
        )
    require_addresses(parts["wifi"], len(network.nodes), source)
    sleep = parts["sleep"]
    if sleep.battery_full_mv <= sleep.battery_empty_mv:
        raise UsageError(
            f"{source.stated('sleep', 'battery_full_mv', sleep.battery_full_mv)} is not more than "
            f"battery_empty_mv = {sleep.battery_empty_mv}"
        )
    _require_pace(parts["sensors"], source)
    graph = _graph(network.nodes, topology, source)
    if run.schedule == "gossip":
        _require_slots(graph, run, source)
    if topology.root is not None and topology.root not in network.nodes:
        raise UsageError(
            f"{source.stated('topology', 'root', topology.root)} is no node of the network; "
            f"the nodes are {named_ids(network.nodes)}"
        )
    return Config(file=file, graph=graph, source=source, **{**parts, "network": network})


def _require_pace(sensors: SensorsSection, source: Source) -> None:
    for device in sensors.devices:
        if sensors.every_s < device.least_s:
            raise UsageError(
                f"{source.stated('sensors', 'every_s', sensors.every_s)}: a {device.driver} needs {device.least_s} s "
                f"between two measurements"
            )


def _require_known_section(section: str, table: object, source: Source) -> None:
    if section in SECTIONS:
        if not isinstance(table, Mapping):
            form = f"[[{section}]]" if isinstance(table, list) else f"{section} = {shown(table)}"
            raise UsageError(
                f"{source.place(section)}: {section} is a section; write [{section}], not {form}"
            )
        return
    if section == _PASSWORD:
        variables = " or ".join(_PASSWORD_VARIABLES.values())
        raise UsageError(f"{source.place(section)}: {section}: {_NEVER_HERE} {variables}")
    if not isinstance(table, Mapping):
        homes = [f"[{name}]" for name in SECTIONS if section in keys_of(name)]
        hint = f"it belongs under {' or '.join(homes)}" if homes else f"the sections are {_section_names()}"
        raise UsageError(
            f"{source.place(section)}: {bare(section)} = {shown(table)} stands in no section; {hint}"
        )
    nearest = difflib.get_close_matches(section, SECTIONS, n=1)
    hint = f"did you mean [{nearest[0]}]?" if nearest else f"the sections are {_section_names()}"
    raise UsageError(f"{source.place(section)}: unknown section [{bare(section)}]; {hint}")


def _section(section: str, table: Any, source: Source) -> Any:
    for name in table:
        if name not in keys_of(section):
            if name == _PASSWORD and section in _PASSWORD_VARIABLES:
                variable = _PASSWORD_VARIABLES[section]
                raise UsageError(f"{source.at(section, name)}: {_NEVER_HERE} {variable}")
            what = f"unknown key {bare(name)} in [{section}]"
            raise UsageError(f"{source.place(section, name)}: {what}; {_nearest(section, name)}")
    return SECTIONS[section](**_checked(section, table, source))


def _nearest(section: str, name: str) -> str:
    elsewhere = [other for other in SECTIONS if name in keys_of(other)]
    nearest = difflib.get_close_matches(name, keys_of(section), n=1, cutoff=0.7)
    if elsewhere and not nearest:
        return f"{name} belongs under " + " or ".join(f"[{other}]" for other in elsewhere)
    nearest = nearest or difflib.get_close_matches(name, keys_of(section), n=1, cutoff=0.4)
    if nearest:
        return f"did you mean {nearest[0]}?"
    return f"its keys are {', '.join(keys_of(section))}"


def _checked(section: str, table: Mapping[str, object], source: Source) -> dict[str, object]:
    values = {}
    for name, value in table.items():
        check = keys_of(section)[name].check
        try:
            values[name] = check.convert(value)
        except Unfit as error:
            if error.args:
                raise UsageError(f"{source.at(section, name)}: {error}") from error
            raise UsageError(f"{source.stated(section, name, value)}: it must be {check.allowed}") from error
    return values


def _graph(nodes: tuple[int, ...], topology: TopologySection, source: Source) -> Graph:
    if topology.kind is not None and topology.phases is not None:
        raise UsageError(f"{source.at('topology', 'phases')} and kind are both there; keep one of them")
    settings = {name: getattr(topology, name) for name in SETTINGS}
    try:
        if topology.phases is None:
            return named(nodes, Shape(topology.kind or DEFAULT_KIND, **settings))
        for name, value in settings.items():
            if value is not None:
                raise TopologyError(f"{name} is a setting of kind, not of phases; remove it", name)
        graph = Graph.build(nodes, topology.phases)
        graph.require_jointly_connected()
        return graph
    except TopologyError as error:
        if topology.kind is None and topology.phases is None:
            where = f'{source.name}: [topology] has no kind, so it is "{DEFAULT_KIND}"'
        else:
            where = source.at("topology", "kind" if topology.phases is None else "phases")
        if error.setting:
            raise UsageError(f"{source.place('topology', error.setting)}: [topology] {error}") from error
        raise UsageError(f"{where}: {error}") from error


def _require_slots(graph: Graph, run: RunSection, source: Source) -> None:
    """That a step of `gossip` can end as it is meant to.

    A fixed number of slots is a multiple of the window; the tolerance has two windows at least, for in the
    first one of a step nobody is ready yet.
    """
    window = window_slots(graph)
    news = f"news takes {window} slots to cross this topology"
    over = run.slots % window
    if over:
        near = [count for count in (run.slots - over, run.slots - over + window) if count]
        raise UsageError(
            f"{source.stated('run', 'slots', run.slots)}: {news}, and slots must be a multiple of that; "
            f"take {' or '.join(str(count) for count in near)}"
        )
    if not run.slots and run.max_slots < 2 * window:
        raise UsageError(
            f"{source.stated('run', 'max_slots', run.max_slots)}: {news}, and a step ends after "
            f"twice as many at the earliest; set it to {2 * window} or more"
        )


def _section_names() -> str:
    return ", ".join(f"[{name}]" for name in SECTIONS)
