"""The host's side of an update against the node's own code: what is signed here is taken there, through any losses."""

import hmac
import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from update_bench import FILES, HOME, VERSION, MemoryFlash, facts

from dcka.boards.versions import AirVersion
from dcka.config import State as Folder
from dcka.errors import UsageError
from dcka.updates.delivery import Delivery, State
from dcka.updates.keys import key_file, known_key, network_key
from dcka.updates.manifests import signed
from dcka_core.signing import Hmac, node_key
from dcka_core.update import Update

NETWORK_KEY = bytes(range(32, 64))
MPY = 6 | 3 << 8 | 10 << 10


def version(version_id=VERSION, files=FILES):
    return AirVersion(dict(files), version_id, MPY)


class Pair:
    """A host's delivery and a node; `loss`: the share of messages that gets lost, either way."""

    def __init__(self, loss=0.0, seed=0, most=300, said=None, key=NETWORK_KEY):
        self.random = random.Random(seed)
        self.loss = loss
        self.flash = MemoryFlash()
        self.said = said or facts()
        self.node = self.restarted()
        self.now = 0.0
        self.queue = []
        self.started = False
        self.host = Delivery(1, most, self.plan, self.queue.append, 1234, join_s=30.0, patience_s=60.0)
        self.key = key

    def restarted(self):
        return Update(self.flash, lambda: self.said, node_key(NETWORK_KEY, "t", 1))

    def plan(self, said):
        if said["version"] == VERSION:
            return None
        return signed(version(), "t", 1, said["counter"] + 1, self.key)

    def lost(self):
        return self.random.random() < self.loss

    def run(self, on_message=lambda pair, payload: None):
        """Until the node starts the version, or it is over otherwise."""
        self.host.begin(self.now)
        for _ in range(20_000):
            if self.host.over or self.host.told.state is State.TRIAL:
                return
            while self.queue:
                payload = self.queue.pop(0)
                on_message(self, payload)
                if self.lost():
                    continue
                answer, start = self.node.take(payload)
                if start:
                    self.started = True
                    self.said = facts(version=VERSION, counter=5, state="trial")
                    self.node = self.restarted()
                if not self.lost():
                    # As it travels.
                    self.host.take_answer(json.loads(json.dumps(answer)), self.now)
            self.now += 0.5
            self.host.look(self.now)
        raise AssertionError(f"no end: {self.host.told}")


@given(st.binary(max_size=200), st.lists(st.binary(max_size=100), max_size=6))
def test_the_nodes_hmac_is_pythons(key, pieces):
    code = Hmac(key)
    for piece in pieces:
        code.update(piece)
    assert code.digest() == hmac.digest(key, b"".join(pieces), "sha256")


def test_what_is_signed_here_is_taken_there():
    pair = Pair()
    pair.run()
    assert pair.started and pair.host.told.state is State.TRIAL
    assert pair.flash.settled[:2] == (HOME, 5)
    told = pair.host.told
    assert (told.sent, told.copied, told.files) == (2, 2, 4)
    # Not a byte more than what the node lacked.
    assert told.bytes == len(FILES[0][1]) + len(FILES[2][1])
    pair.host.take_version({"version": VERSION, "counter": 5, "state": "joined"}, pair.now)
    assert told.state is State.JOINED and pair.host.part == 1.0


@pytest.mark.parametrize("seed", range(25))
def test_through_any_losses(seed):
    pair = Pair(loss=0.3, seed=seed, most=100 + 40 * seed)
    pair.run()
    assert pair.started and all(pair.flash.files[f"{HOME}/{path}"] == content for path, content in FILES)


@pytest.mark.parametrize("seed", range(10))
def test_through_restarts_of_the_node(seed):
    def restart(pair, _payload):
        if pair.random.random() < 0.05 and not pair.started:
            pair.node = pair.restarted()

    pair = Pair(loss=0.05, seed=seed)
    pair.run(restart)
    assert pair.started


def test_each_end_has_its_reason():
    same = Pair(said=facts(version=VERSION))
    same.run()
    assert same.host.told.state is State.CURRENT
    low = Pair(said=facts(battery_mv=3100, least_mv=3500))
    low.run()
    assert low.host.told.state is State.REFUSED and low.host.told.reason.startswith("battery: 3100 mV")
    stranger = Pair(key=bytes(32))
    stranger.run()
    assert stranger.host.told.state is State.REFUSED and stranger.host.told.reason.startswith("signature")
    assert not any(pair.host.tried or pair.flash.settled for pair in (same, low, stranger))


def test_a_node_that_is_silent_is_left_alone_and_one_in_a_run_waited_for():
    silent = Pair(loss=1.0)
    silent.run()
    assert silent.host.told.state is State.FAILED and "does not answer" in silent.host.told.reason
    busy = Pair()
    busy.host.begin(0.0)
    transfer = int.from_bytes(busy.queue[0][1:5], "little")
    for now in range(1, 50):
        busy.host.take_answer({"transfer": transfer, "next": 0, "error": "busy"}, now)
        busy.host.look(now)
    assert not busy.host.over and busy.host.told.reason == "it is in a run that has not ended"
    busy.queue = busy.queue[:1]
    busy.now = 50.0
    while busy.queue:
        busy.host.take_answer(busy.node.take(busy.queue.pop(0))[0], busy.now)
    assert busy.host.told.state is State.SENDING or busy.host.tried


def test_words_from_before_say_nothing_of_this_update():
    pair = Pair()
    pair.run()
    told = pair.host.told
    pair.host.take_version({"version": VERSION, "counter": 4, "state": "joined"}, 1.0)
    pair.host.take_version({"version": "old", "counter": 5, "rolled_back": {"version": "other"}}, 1.0)
    assert told.state is State.TRIAL
    back = {"version": VERSION, "reason": "did not join within 600 s"}
    pair.host.take_version({"version": "old", "counter": 5, "rolled_back": back}, 2.0)
    assert told.state is State.ROLLED_BACK and told.reason == "did not join within 600 s"


def test_a_trial_that_is_never_heard_of_again_has_failed():
    pair = Pair()
    pair.run()
    pair.host.look(pair.now + 31)
    assert pair.host.told.state is State.FAILED and "has not said within 30 s" in pair.host.told.reason


def test_the_network_key_is_made_once_for_its_owner_alone(tmp_path):
    state = Folder(tmp_path / ".dcka")
    with pytest.raises(UsageError, match="dcka board provision --all"):
        known_key(state)
    key = network_key(state)
    assert len(key) == 32 and key == network_key(state) == known_key(state)
    file = key_file(state)
    assert file.stat().st_mode & 0o777 == 0o600
    file.chmod(0o644)
    with pytest.raises(UsageError, match="chmod 600"):
        network_key(state)
    file.chmod(0o600)
    file.write_text("no key\n")
    with pytest.raises(UsageError, match="64 hex digits"):
        known_key(state)
