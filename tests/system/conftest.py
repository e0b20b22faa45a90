"""What tests of brokers and nodes need before the first of them begins."""

import contextlib

import pytest

from dcka.emulation.build import BuildError, build


@pytest.fixture(scope="session", autouse=True)
def firmware_is_built() -> None:
    """Made once and kept; the first test that starts a node would take it for a node that doesn't come.

    Where it can't be built, the tests that need it say so.
    """
    with contextlib.suppress(BuildError):
        build()
