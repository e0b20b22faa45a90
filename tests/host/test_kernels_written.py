"""The kernels for a fixed n are what tools/unroll_kernels.py writes, and a board is given all of them."""

import runpy
from pathlib import Path

from dcka.firmware_files import board_files

ROOT = Path(__file__).resolve().parents[2]
TOOL = runpy.run_path(str(ROOT / "tools" / "unroll_kernels.py"))


def test_the_files_are_what_the_tool_writes() -> None:
    files = TOOL["files"]()
    folder = ROOT / "firmware" / "dcka_core"
    assert {path.name for path in folder.glob("kernel_viper_*.py")} == {*files, "kernel_viper_bare.py"}
    for name, text in files.items():
        assert (folder / name).read_text(encoding="utf-8") == text, f"{name}: run tools/unroll_kernels.py"


def test_a_board_gets_every_kernel() -> None:
    names = {file.path.name for file in board_files()}
    assert (
        set(TOOL["files"]()) | {"kernel.py", "kernel_viper.py", "kernel_viper_bare.py", "kernels.py"} <= names
    )
