"""A run of the part of a network that is there, from given centres."""

import numpy as np

from dcka.config import from_mapping
from dcka.inject.dataset import from_values
from dcka.runs.plan import plan
from dcka.streams.members import part_of


def test_links_by_hand_of_nodes_that_are_away_do_not_keep_the_others_from_their_run():
    config = from_mapping(
        {
            "network": {"name": "lab", "nodes": [1, 2, 3]},
            "topology": {"phases": [[[1, 2], [2, 3]]]},
            "run": {"k": 2},
        }
    )
    part = part_of(config, {1, 2})
    data = from_values("there", ("x",), {1: np.array([[0.0], [1.0]]), 2: np.array([[9.0], [10.0]])})
    made = plan(part.config, data.record(), 5, centres=[[0.0], [10.0]], k=None)
    assert sorted(made.members) == [1, 2]
    assert made.record["k"] == 2 and made.record["init"] == "given"
