"""The notebook of the docs runs from its first cell to its last, and says what the text around it claims."""

import re
from pathlib import Path

import pytest

pytest.importorskip("sklearn")

import nbformat
from nbclient import NotebookClient
from stored_runs import store

NOTEBOOK = Path(__file__).resolve().parent.parent.parent / "docs" / "notebook.ipynb"
CELL_S = 240

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def book():
    return nbformat.read(NOTEBOOK, as_version=4)


def test_it_is_committed_without_outputs(book):
    nbformat.validate(book)
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    assert code and all(cell.outputs == [] and cell.execution_count is None for cell in code)


# What the kernel's client itself has to say of its event loop and of paths is not ours.
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning", "ignore::ResourceWarning")
def test_it_runs(book, tmp_path, monkeypatch):
    store(tmp_path / "history.sqlite")
    monkeypatch.setenv("DCKA_HISTORY", str(tmp_path / "history.sqlite"))
    for name in ("JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR", "MPLCONFIGDIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    done = NotebookClient(
        book, timeout=CELL_S, startup_timeout=CELL_S, resources={"metadata": {"path": str(tmp_path)}}
    )
    done.execute()
    outputs = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    said = "".join(output.get("text", "") for output in outputs)
    pictures = [output for output in outputs if "image/png" in output.get("data", {})]
    assert len(pictures) == 3 and not [output for output in outputs if output.get("name") == "stderr"]
    assert "all nodes have the same bits: True" in said
    assert "other labels: 0 of 4,500" in said
    off = float(re.search(r"which is ([\d.]+) steps of the grid", said)[1])
    assert off <= 1
    assert re.search(r"tree +SSD", said) and re.search(r"gossip +SSD", said)
    assert "<Run greenhouse/1 tree K=3 finished" in said
