"""The import contracts hold, and each of them is one that a planted import breaks."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent

pytestmark = pytest.mark.slow

# (file, import, the contract's first words)
PLANTED = [
    ("firmware/dcka_core/planted.py", "import dcka.errors", "The core knows neither"),
    ("firmware/dcka_core/planted.py", "import dcka_device", "The core knows neither"),
    ("firmware/dcka_core/planted.py", "from time import ticks_ms", "The core knows neither"),
    ("firmware/dcka_core/planted.py", "from typing import Any", "The core knows neither"),
    ("firmware/dcka_device/planted.py", "import dcka.errors", "The device shell"),
    ("host/dcka/inject/planted.py", "import dcka_device", "The host never imports"),
    ("host/dcka/reference/planted.py", "import dcka.errors", "The reference stands alone"),
    ("host/dcka/reference/planted.py", "from dcka_core import codec", "The reference stands alone"),
    ("host/dcka/reference/planted.py", "from paho.mqtt import client", "The reference stands alone"),
    ("host/dcka/reference/planted.py", "import scipy", "The reference stands alone"),
    ("host/dcka/engine/planted.py", "import dcka.reference", "The engine stands on"),
    ("host/dcka/runs/planted.py", "import dcka.engine", "What needs the extra"),
    ("host/dcka/emulation/planted.py", "import dcka.reference", "The emulation never imports"),
    ("host/dcka/inject/planted.py", "import dcka.cli", "Nobody imports"),
    ("host/dcka/boards/planted.py", "import esptool", "esptool runs in a worker"),
    ("host/dcka/boards/planted.py", "from mpremote import transport_serial", "One adapter"),
    ("host/dcka/runs/planted.py", "import prometheus_client", "The metrics know"),
    ("host/dcka/check/planted.py", "import sklearn.metrics", "scikit-learn is the estimator's"),
    ("host/dcka/monitor/planted.py", "from sqlalchemy import select", "The history knows"),
    ("host/dcka/monitor/planted.py", "import fastapi", "The page stands on"),
    ("host/dcka/errors.py", "import dcka.inject", "No cycles"),
]


@pytest.fixture
def lint_imports(tmp_path):
    """A copy of the packages to plant in, and the run of import-linter on it."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for folder in ("host", "firmware"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))

    def run():
        path = os.pathsep.join([str(tmp_path / "host"), str(tmp_path / "firmware")])
        return subprocess.run(
            [str(Path(sys.executable).with_name("lint-imports")), "--no-logo", "--no-cache"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    return run


def test_the_contracts_hold(lint_imports):
    done = lint_imports()
    assert done.returncode == 0, done.stdout
    assert "0 broken" in done.stdout


@pytest.mark.parametrize(("file", "line", "contract"), PLANTED)
def test_a_planted_import_breaks_its_contract(lint_imports, tmp_path, file, line, contract):
    planted = tmp_path / file
    if not planted.parent.exists():
        planted.parent.mkdir()
        (planted.parent / "__init__.py").touch()
    before = planted.read_text("utf-8") if planted.exists() else ""
    planted.write_text(f"{before}\n{line}\n", "utf-8")
    done = lint_imports()
    assert done.returncode == 1, done.stdout
    broken = [row for row in done.stdout.splitlines() if " BROKEN" in row]
    assert any(row.startswith(contract) for row in broken), done.stdout
