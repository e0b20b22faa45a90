"""Numbers that matter travel as whole numbers: they do not drift however often they are said again (case C39)."""

import json

from dcka_core.messages import COMMIT, FINAL, Commit, read_commit
from dcka_core.record import read_run

RUN = {
    "v": 1,
    "run": 7,
    "kind": "tree",
    "members": [1, 2],
    "root": 1,
    "depth": 1,
    "dataset": "0011223344556677",
    "points": 1 << 36,
    "n": 2,
    "bits": 15,
    "k": 2,
    "init": "shared",
    "seed": 1,
    "max_steps": 9,
    "patience_ms": 500,
}


def test_a_commit_that_is_said_again_a_hundred_times_is_the_same_bytes():
    run = read_run(RUN)
    commit = Commit()
    commit.sender, commit.boot, commit.step, commit.flags = 1, 3, 5, FINAL
    commit.epoch, commit.contributors, commit.missing = (0, 1, 0), 3, 0
    commit.centres = [0, 32767, 16384, 1]
    commit.counts = [1 << 36, 0]
    commit.ssd = (1 << 64) - 1
    first = bytes(commit.encode(run))
    assert first[0] & 15 == COMMIT
    said = first
    for _ in range(100):
        said = bytes(read_commit(said, run).encode(run))
    assert said == first


def test_whole_numbers_in_json_come_back_as_they_were():
    """SSDs and seeds of up to 63 bits, on interpreters with 31-bit integers of their own too."""
    numbers = [0, 99, 16777217, 123456789, (1 << 31) - 1, 1 << 31, (1 << 53) + 1, (1 << 63) - 1]
    said = json.dumps(numbers)
    for _ in range(100):
        said = json.dumps(json.loads(said))
    assert json.loads(said) == numbers
