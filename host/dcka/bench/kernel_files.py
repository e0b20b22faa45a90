"""The core's modules as they are imported by name: a node's own build joins and renames them."""

import re

from dcka.bench.errors import BenchError
from dcka.emulation.build import NO_NATIVE_CODE, Build, build
from dcka.emulation.prepare import BOOTED
from dcka.firmware_files import board_files

# What a measured step needs, whatever the kernel.
_ALWAYS = frozenset(
    f"dcka_core/{name}.mpy" for name in ("errors", "kernel", "kernels", "lloyd", "points", "starts")
)
_KERNEL = re.compile(r"dcka_core/kernel_viper(_bare|(_sorted)?_(?P<n>\d+))?\.mpy")


def plain_build(march: str | None = None) -> Build:
    """The firmware, compiled, without what a board boots: its modules keep their names. As `build` otherwise."""
    return build([file for file in board_files() if file.path not in BOOTED], march=march)


def board_modules(dimensions: set[int], march: str | None) -> dict[str, bytes]:
    """Path → content of what cases of so many dimensions need on a board that runs machine code of `march`.

    Raises BenchError for a board that runs none.
    """
    if march is None or march == NO_NATIVE_CODE:
        raise BenchError(
            "the board's MicroPython runs no machine code, and kernels are machine code: flash another one"
        )
    built = plain_build(march)
    wanted = [path for path in built.files if _is_needed(str(path), dimensions)]
    return {str(path): (built.folder / path).read_bytes() for path in wanted}


def _is_needed(path: str, dimensions: set[int]) -> bool:
    kernel = _KERNEL.fullmatch(path)
    if kernel is None:
        return path in _ALWAYS
    return kernel["n"] is None or int(kernel["n"]) in dimensions
