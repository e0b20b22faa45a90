"""What a node's board has to have: the files of one version, and the name that follows from them.

/boot.py /main.py   main.py names the folder that it starts
/fw-<12 hex>/       all the rest; the name is a digest of what is in it, so that a folder never changes
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dcka.boards.errors import BoardError
from dcka.boards.images import MINIMUM
from dcka.boards.installed import MARCHES, Facts
from dcka.boards.secrets import Secrets
from dcka.boards.transfer import digest
from dcka.broker.url import CA_FILE, BrokerUrl
from dcka.config import Config, node_wifi
from dcka.emulation.build import NO_NATIVE_CODE, Build, build
from dcka.emulation.network import room_for, settings, with_sleep
from dcka.errors import DckaError, UsageError
from dcka.sensing.settings import sensor_parts, sensor_settings
from dcka.topology import schedule
from dcka_core.signing import node_key
from dcka_core.voice import VERSION

NODE_FILE = "node.json"
VERSION_FILE = "version.json"
DATA_FILE = "data.bin"
SOURCE = "source"

MPY = (6, 3)
"""Version and sub-version of the .mpy files that our compiler makes."""

_FIRMWARE_LINE = re.compile(r'^FIRMWARE = ""$', re.MULTILINE)
CONFIG_FILE = "config.json"
_BOOTED = ("boot.py", "main.py")
# Who the node is, and what it trusts, come over a cable alone (dcka_core/manifest.py has the same).
_FIXED = ("v", "network", "node")
_KEEPALIVE_S = 10
# node.json has passwords, and the folder's name is shown to people: guessing one from it shall cost as much as
# guessing it from a recorded handshake. 16 MB and 50 ms.
_SCRYPT = {"n": 2**14, "r": 8, "p": 1}


class WrongMicroPython(BoardError):
    """The board's MicroPython cannot run our firmware."""


class WrongFileSystem(BoardError):
    """The board's file system cannot hold what we promise."""


@dataclass(frozen=True)
class Version:
    """`files`: path within the folder → content, with version.json and node.json. `folder`: "fw-…", its name.

    `mpy`: the architecture, or "source". `data`: for an image, the node's data file. `names`: `Build.names`.
    """

    files: Mapping[str, bytes] = field(repr=False)
    folder: str
    main_py: bytes = field(repr=False)
    boot_py: bytes = field(repr=False)
    mpy: str
    firmware: str
    node: int
    network: str
    data: bytes | None = field(default=None, repr=False)
    names: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)

    def tree(self) -> dict[str, bytes]:
        """All files of a board by their absolute paths: what an image holds."""
        whole = {f"/{self.folder}/{path}": content for path, content in self.files.items()}
        whole |= {"/boot.py": self.boot_py, "/main.py": self.main_py}
        return whole | ({} if self.data is None else {f"/{DATA_FILE}": self.data})


def require_fit(port: str, facts: Facts, source: bool = False) -> None:
    """Raises WrongMicroPython for a board whose MicroPython is too old, or loads other .mpy files than ours, and
    WrongFileSystem for FAT: a power cut while it replaces main.py leaves none."""
    said = ".".join(str(part) for part in facts.version)
    if facts.version[: len(MINIMUM)] < MINIMUM:
        oldest = ".".join(str(part) for part in MINIMUM)
        raise WrongMicroPython(
            f"{port}: the board has MicroPython {said}, and dcka needs {oldest} or newer: flash a newer one with "
            f"dcka board flash --port {port}"
        )
    if not source and facts.mpy_version != MPY:
        theirs = "none" if not facts.mpy else ".".join(str(part) for part in facts.mpy_version)
        raise WrongMicroPython(
            f"{port}: the board's MicroPython {said} loads .mpy files of version {theirs}, and dcka's compiler makes "
            f"{MPY[0]}.{MPY[1]}: flash a newer MicroPython with dcka board flash --port {port}, or use --source"
        )

    if facts.fat:
        raise WrongFileSystem(
            f"{port}: the board's file system is FAT, of an old MicroPython: a power cut while it replaces a file "
            f"leaves none. Make it LittleFS, which erases it: dcka board flash --erase --port {port}"
        )


def wanted_version(
    config: Config,
    node: int,
    march: str | None,
    secrets: Secrets,
    source: bool = False,
    data: bytes | None = None,
) -> Version:
    """The version of node `node` for a board that runs native code of `march` (None: it runs none).

    Raises UsageError where the network file names no broker that a board could reach, or has no such node;
    BuildError where the firmware does not compile.
    """
    broker = _broker(config, node, secrets)
    built = build(parts=_parts(config), march=march or NO_NATIVE_CODE, source=source)
    files = _code(built, broker)
    boot_py, main_py = (files.pop(name) for name in _BOOTED)
    version = _version_id(files | {CONFIG_FILE: _public_json(config, broker, node)})
    files[NODE_FILE] = _node_json(config, broker, node, secrets)
    mpy = SOURCE if source else march or NO_NATIVE_CODE
    folder = _folder(files)
    main_py = _with_folder(main_py, folder)
    files[VERSION_FILE] = _version_json(files, mpy, version)
    return Version(
        files, folder, main_py, boot_py, mpy, VERSION, node, config.network.name, data, built.names
    )


@dataclass(frozen=True)
class AirVersion:
    """What an update brings: no password, and nothing that says who the node is. `version`: 12 hex digits, a digest of
    the files; the folder is "fw-" and that. `mpy`: as `sys.implementation._mpy` has to be, 0 for sources.
    """

    files: Mapping[str, bytes] = field(repr=False)
    version: str
    mpy: int
    firmware: str = VERSION


def air_version(config: Config, node: int, mpy: int, source: bool = False) -> AirVersion:
    """The version that node `node` shall have, whose interpreter says `mpy`. Raises as `wanted_version` does."""
    march = MARCHES.get(mpy >> 10 & 0xF) if not source else None
    broker = _broker(config, node, Secrets())
    files = _code(build(parts=_parts(config), march=march or NO_NATIVE_CODE, source=source), broker)
    for name in _BOOTED:
        del files[name]
    files[CONFIG_FILE] = _public_json(config, broker, node)
    version = _version_id(files)
    files[VERSION_FILE] = _version_json(files, SOURCE if source else march or NO_NATIVE_CODE, version)
    wanted = 0 if source else MPY[0] | MPY[1] << 8 | (mpy & 0x3C00 if march else 0)
    return AirVersion(files, version, wanted)


def _parts(config: Config) -> list[str]:
    """What only some nodes get, of the firmware."""
    return [*sensor_parts(config.sensors), *(["sleeping"] if config.sleep.deep else [])]


def _code(built: Build, broker: BrokerUrl) -> dict[str, bytes]:
    """All files but those that say what node this is."""
    files = {str(path): (built.folder / path).read_bytes() for path in built.files}
    if broker.tls and broker.ca is not None:
        files[CA_FILE] = broker.ca.read_bytes()
    return files


def _broker(config: Config, node: int, secrets: Secrets) -> BrokerUrl:
    """The broker of `node`, with its password."""
    if node not in config.ids:
        raise UsageError(f"node {node} is not in the network: [network] nodes in network.toml says which are")
    if config.network.broker is None:
        raise UsageError(
            '[network] broker is "embedded", which only this computer reaches: name one with --broker URL'
        )
    broker = config.network.broker
    return broker.with_password(secrets.broker or broker.password)


def _version_json(files: Mapping[str, bytes], mpy: str, version: str) -> bytes:
    hashes = {path: digest(files[path]) for path in sorted(files)}
    record = {"v": 1, "firmware": VERSION, "version": version, "mpy": mpy, "files": hashes}
    return json.dumps(record, separators=(",", ":")).encode()


def _version_id(files: Mapping[str, bytes]) -> str:
    """The same for a board that was provisioned and one that was updated: over code and public settings."""
    whole = hashlib.sha256()
    for path in sorted(files):
        whole.update(f"{path} {digest(files[path])}\n".encode())
    return whole.hexdigest()[:12]


def _public_json(config: Config, broker: BrokerUrl, node: int) -> bytes:
    """node.json without what an update must not change, or would give away: the node keeps these as it has them."""
    record = {key: value for key, value in _settings(config, broker, node).items() if key not in _FIXED}
    for value in record.values():
        if isinstance(value, dict):
            value.pop("password", None)
    return _json(record)


def _node_json(config: Config, broker: BrokerUrl, node: int, secrets: Secrets) -> bytes:
    record = _settings(config, broker, node)
    if config.wifi.ssid is not None:
        record["wifi"] |= {"password": secrets.wifi or ""}
    if secrets.update is not None:
        record["update_key"] = node_key(secrets.update, config.network.name, node).hex()
    return _json(record)


def _settings(config: Config, broker: BrokerUrl, node: int) -> dict[str, Any]:
    """node.json but for the Wi-Fi's password and the key of updates."""
    record: dict[str, Any] = settings(config.network.name, broker, room_for(config.ids), _KEEPALIVE_S)
    rows = schedule(config.graph, config.run.schedule, config.topology.root).row_records(0)[node]
    record |= {"node": node, "broker": broker.for_node(node), "console": True, "rows": rows}
    if config.wifi.ssid is not None:
        record["wifi"] = node_wifi(config, node)
    limits = config.update.for_node()
    if limits:
        record["update"] = limits
    record |= sensor_settings(config.sensors)
    if config.sleep.deep:
        record = with_sleep(record, config.sleep.node)
    return record


def _json(record: Mapping[str, object]) -> bytes:
    return json.dumps(record, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()


def _folder(files: Mapping[str, bytes]) -> str:
    whole = hashlib.sha256()
    for path in sorted(files):
        part = files[path]
        if path == NODE_FILE:
            part = hashlib.scrypt(part, salt=path.encode(), **_SCRYPT)
        whole.update(f"{path} {digest(part)}\n".encode())
    return f"fw-{whole.hexdigest()[:12]}"


def _with_folder(main_py: bytes, folder: str) -> bytes:
    text, count = _FIRMWARE_LINE.subn(f'FIRMWARE = "/{folder}"', main_py.decode())
    if count != 1:
        raise DckaError(
            f'firmware/main.py has {count} lines `FIRMWARE = ""`, where the folder is put in: it needs one'
        )
    return text.encode()
