"""A version on trial on a simulated board: one that joins stays, and one that never does is gone back from."""

import json
import random

import pytest

from dcka.emulation.air import Faults
from dcka.emulation.virtual.air import Air, no_loss
from dcka.emulation.virtual.board import Board
from dcka.emulation.virtual.broker import Broker
from dcka.emulation.virtual.oscillator import Oscillator
from dcka.emulation.virtual.timeline import US_PER_S, Timeline
from dcka.emulation.virtual.versions import BEHAVIOUR_FILE, LIMIT_S, SOUND, STAY_S
from dcka.emulation.virtual.world import World
from dcka.week.witness import Witness

NEW = "fw-abcdefabcdef"


@pytest.fixture
def board():
    """Node 1, without power, its next start that of a new version on trial."""
    timeline = Timeline()
    broker = Broker(timeline, Air(Faults(), no_loss, random.Random(1)))
    world = World(
        "week", timeline, broker, lambda node, now_s: (2000,), Witness([1]), "temperature/2", 218_073_600, 600,
        update_key=bytes(32),
    )  # fmt: skip
    made = Board(1, world, Oscillator(), "7")
    made.versions.append(f"{NEW}/{BEHAVIOUR_FILE}", SOUND, True)
    made.versions.settle(NEW, 1, {"network": "week", "node": 1})
    return made


def said(board):
    return json.loads(board.world.broker.retained["version/1"])


def test_a_version_that_joins_and_stays_is_the_one_from_then_on(board):
    board.power_on()
    board.world.timeline.run_until(STAY_S * US_PER_S)
    assert board.versions.trial and said(board)["state"] == "trial"
    board.world.timeline.run_until((STAY_S + 10) * US_PER_S)
    assert (board.versions.present, board.versions.trial, board.versions.rolled_back) == (NEW, False, 0)
    assert said(board)["state"] == "joined" and "rolled_back" not in said(board)


def test_a_version_that_never_joins_is_gone_back_from_when_its_time_is_over(board):
    old, timeline, broker = board.versions.present, board.world.timeline, board.world.broker
    broker.out_of_reach(1)
    board.power_on()
    timeline.run_until((LIMIT_S - 1) * US_PER_S)
    assert (board.versions.present, board.versions.trial) == (NEW, True)
    assert broker.refused > 100 and "version/1" not in broker.retained
    timeline.run_until((LIMIT_S + 5) * US_PER_S)
    assert (board.versions.present, board.versions.trial, board.versions.rolled_back) == (old, False, 1)
    # The old one says, when it is connected, what it came back from.
    broker.within_reach(1)
    timeline.run_until((LIMIT_S + 7200) * US_PER_S)
    assert said(board)["folder"] == old and said(board)["state"] == "joined"
    assert said(board)["rolled_back"] == {"version": NEW[3:], "reason": f"did not join within {LIMIT_S} s"}
    assert not board.world.watcher.crashes
