"""A board's own parts once more, from the same files, on MicroPython, compiled as a board gets them.

CPython only: MicroPython runs the modules that are named here.
"""

import ast
import os
from pathlib import Path

import interpreters
import pytest

FOLDER = Path(__file__).resolve().parent
MODULES = (
    "test_boot",
    "test_console",
    "test_guard",
    "test_segments_on_flash",
    "test_sensing",
    "test_sensors",
    "test_sleep",
    "test_store",
    "test_versions",
    "test_wifi",
    "test_wifi_sleep",
)


def names_in(module: str) -> set[str]:
    """The tests that the module's source has: what MicroPython has to have run."""
    tree = ast.parse((FOLDER / f"{module}.py").read_text("utf-8"))
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    return {f"{module}.{name}" for name in names if name.startswith("test_")}


@pytest.fixture(scope="module")
def compiled_firmware(tmp_path_factory):
    try:
        return interpreters.compile_firmware(tmp_path_factory.mktemp("firmware"))
    except interpreters.MissingInterpreterError as error:
        if os.environ.get("CI") == "true":
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))


@pytest.mark.parametrize("module", MODULES)
def test_on_micropython(compiled_firmware, module):
    run = interpreters.run_unix(compiled_firmware, module, FOLDER)
    if run.exit_code != 0:
        pytest.fail(f"{module}, exit code {run.exit_code}:\n{run.output}", pytrace=False)
    assert run.tail["implementation"] == "micropython"
    assert set(run.tail["passed"]) == names_in(module)
