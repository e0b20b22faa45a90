"""The core's tests once more, from the same files, on real MicroPython.

CPython only: this is the one file of the folder that MicroPython does not run.
"""

import ast
import os

import interpreters
import pytest

ON_CPYTHON_ONLY = "test_interpreters"
INTERPRETERS = ("unix", "unix-mpy", "wasm")
MODULES = sorted(
    path.stem for path in interpreters.CORE_TESTS.glob("test_*.py") if path.stem != ON_CPYTHON_ONLY
)


def names_in(module: str) -> set[str]:
    """The tests that a module's source has: what every interpreter has to have run."""
    tree = ast.parse((interpreters.CORE_TESTS / f"{module}.py").read_text("utf-8"))
    names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    return {f"{module}.{name}" for name in names if name.startswith("test_")}


def missing(error: interpreters.MissingInterpreterError) -> None:
    """Skip on a desk; on CI an interpreter that is not there is a fault."""
    if os.environ.get("CI") == "true":
        pytest.fail(str(error), pytrace=False)
    pytest.skip(str(error))


@pytest.fixture(scope="session")
def compiled_firmware(tmp_path_factory):
    try:
        return interpreters.compile_firmware(tmp_path_factory.mktemp("firmware"))
    except interpreters.MissingInterpreterError as error:
        missing(error)


@pytest.fixture
def run_on(request):
    """run_on(interpreter, module, tests=folder of the module) → SuiteRun."""

    def run(interpreter, module, tests=interpreters.CORE_TESTS):
        try:
            if interpreter == "wasm":
                return interpreters.run_wasm(module, tests)
            if interpreter == "unix-mpy":
                return interpreters.run_unix(request.getfixturevalue("compiled_firmware"), module, tests)
            return interpreters.run_unix(interpreters.FIRMWARE, module, tests)
        except interpreters.MissingInterpreterError as error:
            missing(error)

    return run


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize("interpreter", INTERPRETERS)
def test_core(run_on, interpreter, module):
    run = run_on(interpreter, module)
    if run.exit_code != 0:
        pytest.fail(f"{module} on {interpreter}, exit code {run.exit_code}:\n{run.output}", pytrace=False)
    assert run.tail["implementation"] == "micropython"
    assert (run.tail["maxsize"] < 2**32) == (interpreter == "wasm")
    assert set(run.tail["passed"] + run.tail["skipped"]) == names_in(module)


@pytest.mark.parametrize("interpreter", INTERPRETERS)
def test_a_failing_test_is_told_with_its_traceback(run_on, interpreter, tmp_path):
    source = "def test_right():\n    pass\n\ndef test_wrong():\n    assert 1 + 1 == 3, 'planted'\n"
    (tmp_path / "test_planted.py").write_text(source, "utf-8")
    run = run_on(interpreter, "test_planted", tmp_path)
    assert run.exit_code == 1
    assert run.tail["failed"] == ["test_planted.test_wrong"]
    assert run.tail["passed"] == ["test_planted.test_right"]
    assert "line 5, in test_wrong" in run.output
    assert "AssertionError: planted" in run.output


@pytest.mark.parametrize("interpreter", INTERPRETERS)
def test_a_module_without_tests_does_not_pass(run_on, interpreter, tmp_path):
    (tmp_path / "test_empty.py").write_text("from support import skip\n", "utf-8")
    assert run_on(interpreter, "test_empty", tmp_path).exit_code == 1


@pytest.mark.parametrize("interpreter", INTERPRETERS)
def test_a_module_that_cannot_be_imported_fails(run_on, interpreter, tmp_path):
    (tmp_path / "test_broken.py").write_text("import dataclasses\n\ndef test_never():\n    pass\n", "utf-8")
    run = run_on(interpreter, "test_broken", tmp_path)
    assert run.exit_code == 1
    assert run.tail["failed"] == ["test_broken"]
    assert "ImportError" in run.output
