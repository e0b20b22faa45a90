"""The kernels as files that the measuring programs import by name: a node's own build has joined and renamed them."""

from dcka.emulation.build import NO_NATIVE_CODE, Build, build
from dcka.emulation.prepare import BOOTED
from dcka.firmware_files import board_files

# What `kernel_on_node` and the cases A to C load; a board's flash gets no more.
_ON_BOARD = (
    "errors", "kernel", "kernel_viper", "kernel_viper_2", "kernel_viper_8", "kernel_viper_bare",
    "kernel_viper_sorted_2", "kernels", "lloyd", "points", "starts",
)  # fmt: skip


def plain_build(march: str | None = None) -> Build:
    """The firmware's modules, each a file with its own names: nothing in it boots. Raises BuildError."""
    return build([file for file in board_files() if file.path not in BOOTED], march=march)


def modules_for_board(march: str | None) -> dict[str, bytes]:
    """Path → content of what cases A to C need, for a board of this architecture (None: it runs no machine code, and
    gets no kernel of it). Raises BuildError.
    """
    made = plain_build(march or NO_NATIVE_CODE)
    wanted = {f"dcka_core/{name}.mpy" for name in _ON_BOARD}
    return {str(file): (made.folder / file).read_bytes() for file in made.files if str(file) in wanted}
