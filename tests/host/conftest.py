"""A broker, a network of a test's own on it, and a client that watches, for the tests of emulated nodes; databases."""

import re
from collections.abc import Iterator

import pytest
from history_places import history, place, postgresql_server
from servers import TestClient, running

from dcka.broker import Broker

__all__ = ["history", "place", "postgresql_server"]


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with running("embedded") as made:
        yield made


@pytest.fixture
def network(request: pytest.FixtureRequest) -> str:
    """A network's name of this test's own."""
    return re.sub(r"\W", "-", request.node.name)[:60]


@pytest.fixture
def watcher(broker: Broker, network: str) -> Iterator[TestClient]:
    """A client that hears every status of the network."""
    with TestClient(broker.address, f"watcher-{network}") as client:
        client.subscribe(f"dcka/{network}/status/+")
        yield client
