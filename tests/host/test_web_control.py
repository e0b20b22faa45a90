"""What a page can have done: runs, with what runs take, and nothing else."""

import pytest

from dcka.errors import UsageError
from dcka.web.control import Control, Place, run_options


def test_what_a_run_can_be_asked_for_becomes_its_options():
    asked = {"schedule": "tree", "k": 9, "init": "kmeans++", "seed": 0, "max_steps": None, "slot_ms": ""}
    assert run_options(asked) == ["--schedule", "tree", "--k", "9", "--init", "kmeans++", "--seed", "0"]


@pytest.mark.parametrize(
    "asked",
    [
        {"k": "9; rm -rf /"}, {"k": True}, {"k": 0}, {"k": 2.5}, {"seed": -1}, {"schedule": "--stop"},
        {"init": "--broker=mqtt://evil"}, {"broker": "mqtt://evil"}, {"--state": "/"}, {"k": ["9"]},
    ],
)  # fmt: skip
def test_anything_else_is_refused(asked):
    with pytest.raises(UsageError):
        run_options(asked)


def test_where_runs_cannot_be_started_it_says_why():
    control = Control(None, "this is a demonstration")
    with pytest.raises(UsageError, match="demonstration"):
        control.start({})
    with pytest.raises(UsageError, match="demonstration"):
        control.stop()
    assert control.shown["possible"] is False


def test_a_second_run_is_refused_while_the_first_is_asked_for():
    control = Control(Place())
    control.start({"k": 3})
    with pytest.raises(UsageError, match="still on"):
        control.start({"k": 3})
