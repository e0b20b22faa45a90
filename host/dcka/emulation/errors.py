"""What the emulation raises on purpose."""

from dcka.errors import DckaError


class BuildError(DckaError):
    """The firmware does not compile, or the compiler is not there."""


class EmulationError(DckaError):
    """Emulated nodes cannot run here, or there is no such node."""
