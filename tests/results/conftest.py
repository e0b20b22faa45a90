"""One history for all tests of a worker, of two networks: read, never written."""

import pytest
from stored_runs import store


@pytest.fixture(scope="session")
def stored(tmp_path_factory):
    """(file, data set): runs 1 to 3 of `greenhouse` (tree), then 1 and 2 of `lab` (gossip)."""
    file = tmp_path_factory.mktemp("results") / "history.sqlite"
    dataset = store(file, numbers=(1, 2, 3))
    store(file, "lab", numbers=(1, 2), kind="gossip")
    return file, dataset
