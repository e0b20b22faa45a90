"""What a node says of its sensors: read with care."""

import pytest

from dcka.sensing.told import Told, moment, read_told

SAID = {
    "readings": 6,
    "waiting": 2,
    "oldest": 0,
    "newest": 86400,
    "missed": 1,
    "failed": {"soil": 3},
    "syncs": 3,
}


def test_a_status_is_read_and_told() -> None:
    told = read_told({"sensing": {**SAID, "erased": 4, "fault": "soil: CRC error"}})
    assert told == Told(6, 2, 0, 86400, 1, {"soil": 3}, 3, 4, ("soil: CRC error",))
    assert told.record()["oldest"] == "2020-01-01T00:00:00Z" and told.record()["failed"] == {"soil": 3}
    assert moment(218203844) == "2026-11-30T12:10:44Z"


def test_a_node_that_has_nothing_yet_says_so() -> None:
    told = read_told({"sensing": {"missed": 0, "failed": {}, "oldest": None, "readings": 0, "newest": None}})
    assert told == Told()


@pytest.mark.parametrize(
    "said",
    [
        None,
        5,
        {**SAID, "readings": -1},
        {**SAID, "readings": "many"},
        {**SAID, "failed": [1]},
        {**SAID, "failed": {"soil": True}},
        {**SAID, "oldest": 2**40},
        {**SAID, "newest": 1.5},
    ],
)
def test_what_makes_no_sense_is_nothing(said: object) -> None:
    assert read_told({"sensing": said}) is None
    assert read_told({}) is None
