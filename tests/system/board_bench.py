"""Emulated boards that are nodes already, and the command line as a person types it."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from dcka.boards.emulated import EmulatedBoard
from dcka.boards.provisioning import wanted_version
from dcka.boards.secrets import Secrets
from dcka.cli import main
from dcka.config import from_mapping
from dcka.emulation.build import host_march
from dcka.inject.dataset import Dataset, from_values

NETWORK = "greenhouse"
NOBODY = "mqtt://127.0.0.1:9"
"""A broker's address where none is: a node goes on trying, and loads its data all the same."""


class Outcome(NamedTuple):
    """What a call of `dcka` came to."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def node_files(node: int, nodes: int = 3, broker: str = NOBODY) -> dict[str, bytes]:
    """What provisioning would put onto the board of this node."""
    network = {"name": NETWORK, "nodes": nodes, "broker": broker}
    config = from_mapping({"network": network, "topology": {"kind": "complete"}})
    march = host_march()
    version = wanted_version(config, node, None if march == "none" else march, Secrets())
    return {path.strip("/"): content for path, content in version.tree().items()}


def write_network(folder: Path, nodes: int = 3, broker: str = NOBODY) -> None:
    """A network file of these nodes."""
    network = f'[network]\nname = "{NETWORK}"\nnodes = {nodes}\nbroker = "{broker}"\n'
    (folder / "network.toml").write_text(network + '[topology]\nkind = "complete"\n')


def caller(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., Outcome]:
    """`dcka board` in this folder; the boards are those that the system does not list."""
    monkeypatch.chdir(folder)

    def call(*arguments: str, boards: tuple[EmulatedBoard, ...] = ()) -> Outcome:
        monkeypatch.setenv("DCKA_PORTS", os.pathsep.join(board.port for board in boards))
        capfd.readouterr()
        code = main(["board", *arguments])
        return Outcome(code, *capfd.readouterr())

    return call


def readings(sizes: Mapping[int, int], seed: int = 1) -> Dataset:
    """So many points of two dimensions for each node."""
    random = np.random.default_rng(seed)
    return from_values(
        "made", ("x", "y"), {node: random.normal(size=(size, 2)) for node, size in sizes.items()}
    )
