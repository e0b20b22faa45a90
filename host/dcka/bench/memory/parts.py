"""Live heap by part, measured by MicroPython itself: what is left after a collection, before and after each import.

`interpreter`: what is there before ours. `mqtt`: client, link and connector, their code and one object with its
buffers, as a program of their own; `import`: all other code that is always there. `data`: 900 readings of two numbers.
`tree`, `gossip`: the code of a consensus. `record`, `starts`, `points`, `intake`, `epochs`, `quarantine`: code that
comes and goes.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path, PurePosixPath
from typing import Any

from dcka.bench.errors import BenchError
from dcka.datasets import gaussians
from dcka.emulation.build import Build, build, install
from dcka.emulation.micropython import available, launch
from dcka.firmware_files import BoardFile, board_files

FORMS = ("mpy", "py")
"""A node as its board gets it, and from its sources."""

RESIDENT = "dcka_device.shell"
MODULES = {
    "tree": "dcka_core.tree",
    "gossip": "dcka_core.gossip_session",
    "record": "dcka_core.record",
    "starts": "dcka_core.starts",
    "points": "dcka_core.points",
    "intake": "dcka_core.intake",
    "epochs": "dcka_core.epochs",
    "quarantine": "dcka_core.quarantine",
}
_ROOMY = "4M"
_LIMIT_S = 60.0
_LINK_ONLY = "from dcka_device.link import Link\n"

_MEASURE = """
import gc, json, micropython, sys
sys.path.insert(0, "")
found = {}
def live():
    gc.collect()
    return gc.mem_alloc()
def took(part, module):
    before = live()
    __import__(module)
    found[part] = live() - before
live()
found["interpreter"] = live()
"""
_ALL = """
took("import", %r)
for part, module in %r:
    took(part, module)
before = live()
with open("data.bin", "rb") as file:
    kept = sys.modules["dcka_core.points"].load(file)
found["data"] = live() - before
print(json.dumps(found))
micropython.qstr_info()
"""
_LINK = """
before = live()
from dcka_device.link import Link
broker = {"host": "127.0.0.1", "port": 1}
config = {"network": "t", "node": 1, "broker": broker, "max_message": 1024, "keepalive": 10}
link = Link(config, ("dcka/t/status/1", "{}"), lambda: 0, lambda bound: 0)
found["mqtt"] = live() - before
print(json.dumps(found))
"""


def measure_parts(form: str) -> dict[str, Any]:
    """Part → live bytes, and `names`, `names_bytes`, for one of FORMS.

    Raises BenchError where there is no MicroPython for this machine, or it fails.
    """
    source = form == "py"
    with tempfile.TemporaryDirectory(prefix="dcka-memory-") as scratch:
        folder = Path(scratch) / "node"
        install(build(source=source), folder)
        (folder / "data.bin").write_bytes(gaussians(1, nodes=1).data_file(1))
        said = run_program(folder, _MEASURE + _ALL % (RESIDENT, list(MODULES.items())), _ROOMY)
        parts = json.loads(said.splitlines()[0])
        names = re.search(r"n_qstr=(\d+).*n_total_bytes=(\d+)", said)
        if names is None:
            raise BenchError(f"this MicroPython does not count its names: {said[-200:]}")
        link = Path(scratch) / "link"
        install(_link_only(source, Path(scratch)), link)
        parts["mqtt"] = json.loads(run_program(link, _MEASURE + _LINK, _ROOMY))["mqtt"]
    parts["import"] -= parts["mqtt"]
    # MicroPython keeps no order in its dicts.
    parts = {part: parts[part] for part in ("interpreter", "import", "mqtt", "data", *MODULES)}
    return {"parts": parts, "names": int(names[1]), "names_bytes": int(names[2])}


def _link_only(source: bool, scratch: Path) -> Build:
    """A program that is nothing but the link."""
    main = scratch / "main.py"
    main.write_text(_LINK_ONLY)
    kept = (
        "dcka_device/link",
        "dcka_device/connector",
        "dcka_core/ticks",
        "dcka_core/codec",
        "dcka_core/errors",
    )
    files = [file for file in board_files() if str(file.path).startswith((*kept, "chumicro_mqtt/"))]
    return build([BoardFile(PurePosixPath("main.py"), main), *files], source=source)


def run_program(folder: Path, program: str, heap: str) -> str:
    """What MicroPython prints, with this heap, in a node's folder. Raises BenchError where it fails."""
    if not available():
        raise BenchError(str(available().reason))
    done = subprocess.run(
        [sys.executable, *launch(heap, "-c", program)],
        cwd=folder,
        env={**os.environ, "MICROPYPATH": ".frozen"},
        capture_output=True,
        text=True,
        timeout=_LIMIT_S,
        check=False,
    )
    if done.returncode != 0:
        raise BenchError(f"MicroPython with a heap of {heap}: {(done.stderr + done.stdout).strip()[-300:]}")
    return done.stdout
