"""A run of `tree` in which nodes go, come back, or are not heard: on real node cores in memory."""

import json
from dataclasses import replace

import pytest
from bus_connection import BusConnection, HostBus, host, retained
from run_network import NODES, Story, ended, equipped, final, leaf_of, planned, unheard, will

from dcka.check import check
from dcka.mqtt.readiness import NotReady
from dcka.mqtt.statuses import Statuses
from dcka.runs.absence import GONE_S
from dcka.runs.blame import missed
from dcka.runs.controller import run
from dcka.runs.survey import survey
from dcka_core.errors import DataError

__all__ = ["host"]


@pytest.fixture
def calm(host):
    """What a run comes to that nothing disturbs; the host's clock goes on."""
    bus = HostBus("lab")
    bus.now = host.bus.now
    other = BusConnection(bus)
    return final(run(other, planned(equipped(other))))


def disturbed(host, made, disturb, step=0, limit_s=120, **story):
    """(outcome, story) of a run in which `disturb` is called once, when `step` has ended."""
    done = []

    def at(kind_of_event, told):
        if ended(kind_of_event, told, step) and not done:
            done.append(told)
            disturb()

    told = Story(at)
    return run(host, made, limit_s=limit_s, on_event=told), told


def require_partial(outcome, data, missing):
    assert outcome.finished and outcome.settled and not outcome.whole
    assert (outcome.missing, outcome.waiting, outcome.reason) == (missing, [], "")
    verdict = check(outcome, data)
    assert verdict.word == "PARTIAL", verdict.reasons
    assert verdict.figures["missing"] == missing
    assert (verdict.figures["replay_identical"], verdict.figures["bit_identical"]) == (True, False)
    assert verdict.reasons[0].startswith(f"node {missing[0]}: ")
    return verdict


def test_who_is_not_heard_is_missing_and_ends_with_the_others(host):
    data = equipped(host)
    made = planned(data)
    leaf = leaf_of(made)
    unheard(host, leaf)
    outcome = run(host, made)
    assert outcome.absent == []
    verdict = require_partial(outcome, data, [leaf])
    steps = outcome.results[leaf]["steps"]
    assert verdict.reasons[0] == f"node {leaf}: its readings are not in {steps} of {steps} steps"
    assert len({repr(held) for held in final(outcome).values()}) == 1


def test_who_has_gone_is_absent_from_a_run_that_ends_without_it(host):
    data = equipped(host)
    made = planned(data, 5)
    leaf = leaf_of(made)
    outcome, story = disturbed(host, made, lambda: will(host, leaf))
    assert (outcome.absent, sorted(outcome.results)) == ([leaf], sorted(set(NODES) - {leaf}))
    verdict = require_partial(outcome, data, [leaf])
    assert verdict.reasons[0].endswith(
        f" of {outcome.results[made.root]['steps']} steps, and it gave no result"
    )
    assert story.of("waiting")[0]["nodes"] == [leaf]
    assert "in step 1: it is offline" in story.of("waiting")[0]["reason"]
    # What it comes to is on its way still for a node that comes back later.
    assert json.loads(retained(host, "run"))["run"] == 5


def test_who_goes_when_all_is_said_has_its_readings_in_every_step(host):
    data = equipped(host)
    made = planned(data)
    leaf = leaf_of(made)
    steps = final(run(host, made))[leaf][0]
    # Before its result: the last commit is on its way to it.
    again = planned(data, 2)
    outcome, _ = disturbed(host, again, lambda: will(host, leaf), step=steps - 1)
    if leaf in outcome.results:
        assert outcome.whole
        return
    verdict = require_partial(outcome, data, [leaf])
    assert verdict.reasons[0] == f"node {leaf}: it gave no result"


@pytest.mark.parametrize("who", ["leaf", "root"])
def test_who_is_back_soon_costs_time_and_not_the_result(host, calm, who):
    data = equipped(host)
    made = planned(data)
    node = made.root if who == "root" else leaf_of(made)

    def reboot():
        will(host, node)
        host.bus.boot(node)

    outcome, story = disturbed(host, made, reboot)
    assert host.bus.boots[node] == 2
    assert outcome.whole
    assert final(outcome) == calm
    assert check(outcome, data).word == "PASS"
    if who == "root":
        assert max(report.get("epoch", [0])[0] for report in story.of("step")) > 0


def test_a_root_that_stays_away_is_missing(host):
    data = equipped(host)
    made = planned(data, topology="ring")  # those who are left can hear each other
    outcome, story = disturbed(host, made, lambda: will(host, made.root))
    assert outcome.absent == [made.root]
    require_partial(outcome, data, [made.root])
    tellers = [report["node"] for report in story.of("step")]
    assert tellers[0] == made.root and tellers[-1] != made.root


def test_a_node_that_comes_back_in_the_last_moment_ends_too(host):
    data = equipped(host)
    made = planned(data)
    leaf = leaf_of(made)
    back = []

    def at(kind_of_event, told):
        if ended(kind_of_event, told, 0) and leaf in host.bus.nodes and not back:
            will(host, leaf)
        if kind_of_event == "result" and leaf not in host.bus.nodes:
            back.append(host.bus.now)
        if back and host.bus.now > back[0] + 500 * GONE_S and leaf not in host.bus.nodes:
            host.bus.boot(leaf)

    outcome = run(host, made, on_event=Story(at))
    assert back and outcome.absent == []
    assert sorted(outcome.results) == list(NODES)
    require_partial(outcome, data, [leaf])


def test_who_dies_while_the_broker_is_away_leaves_no_will_and_is_missed_by_its_silence(host):
    data = equipped(host)
    made = planned(data)
    leaf = leaf_of(made)
    topic = f"dcka/lab/status/{leaf}"

    def outage():
        alive = host.bus.retained[topic]
        host.lose = lambda suffix, payload: suffix == f"status/{leaf}" and b"offline" in payload
        host.bus.kill(leaf)
        host.bus.settle()
        host.bus.retained[topic] = alive
        host.outage()

    outcome, _ = disturbed(host, made, outage)
    assert json.loads(retained(host, f"status/{leaf}"))["state"] != "offline"
    assert outcome.absent == [leaf]
    require_partial(outcome, data, [leaf])


def test_half_of_them_stall_and_say_whom_they_miss(host):
    data = equipped(host)
    made = planned(data, 5)
    gone = sorted(made.members[2:])

    def kill():
        for node in gone:
            will(host, node)

    outcome, story = disturbed(host, made, kill, limit_s=20)
    assert not outcome.finished
    assert outcome.waiting == gone
    assert outcome.reason.startswith("stalled: more than half of the 4 nodes must be there, and node ")
    assert outcome.reason.endswith(f", the root, misses nodes {gone[0]} and {gone[1]}")
    assert story.of("waiting")[-1]["reason"] == outcome.reason
    assert json.loads(retained(host, "run")) == {"v": 1, "run": 6, "kind": "idle"}


def test_those_who_stall_go_on_when_more_than_half_are_there_again(host):
    data = equipped(host)
    made = planned(data)
    gone = made.members[2:]
    reasons = []

    def at(kind_of_event, told):
        if ended(kind_of_event, told, 0) and not reasons:
            for node in gone:
                will(host, node)
        if kind_of_event == "waiting":
            reasons.append(told["reason"])
        if reasons and reasons[-1].startswith("stalled") and gone[0] not in host.bus.nodes:
            host.bus.boot(gone[0])

    outcome = run(host, made, on_event=Story(at))
    assert outcome.absent == [gone[1]]
    require_partial(outcome, data, sorted(set(outcome.missing)))
    assert gone[1] in outcome.missing


def test_a_better_end_of_which_a_node_hears_later_counts(host, calm):
    """PASS beats PARTIAL (rule 12): the final commits say it, whatever a result said before."""
    data = equipped(host)
    arrive = host.arrive

    def worse_first(suffix, payload, retained=False):
        if suffix == "result/2":
            arrive(suffix, json.dumps({**json.loads(payload), "missing": [3]}).encode(), retained)
        arrive(suffix, payload, retained)

    host.arrive = worse_first
    outcome = run(host, planned(data))
    assert outcome.whole and outcome.missing == []
    assert outcome.results[2]["missing"] == []
    assert outcome.rejected == 0
    kept = {**outcome.results, 2: {**outcome.results[2], "missing": [3]}}
    assert replace(outcome, results=kept).whole


def test_a_second_word_that_is_not_of_the_nodes_last_commit_is_a_conflict(host):
    data = equipped(host)
    arrive = host.arrive

    def worse_later(suffix, payload, retained=False):
        arrive(suffix, payload, retained)
        if suffix == "result/2":
            arrive(suffix, json.dumps({**json.loads(payload), "missing": [3]}).encode(), retained)

    host.arrive = worse_later
    outcome = run(host, planned(data))
    assert outcome.whole and outcome.results[2]["missing"] == []
    assert dict(host.rejected) == {("result/2", "conflict: it says other than before"): 1}


def test_a_node_that_comes_back_after_its_result_says_it_again_and_that_is_no_conflict(host):
    data = equipped(host)
    made = planned(data)
    leaf = leaf_of(made)
    last = [node for node in NODES if node != leaf][-1]
    host.lose = lambda suffix, payload: suffix == f"result/{last}"  # the host waits for it to be rebuilt

    def at(kind_of_event, told):
        if kind_of_event == "result" and told["node"] == leaf and host.bus.boots[leaf] == 1:
            will(host, leaf)
            host.bus.boot(leaf)

    outcome = run(host, made, on_event=Story(at))
    assert host.bus.boots[leaf] == 2
    assert outcome.whole
    assert outcome.rejected == 0


# ---- whom a run waits for ----


def statuses(made, **by_node):
    """The statuses of members, as `n3={...}`; all others are online and in the run."""
    found = Statuses()
    for node in made.members:
        record = {"v": 1, "node": node, "boot": 1, "nonce": node, "state": "running", "run": made.number}
        found.take(node, json.dumps(record | by_node.get(f"n{node}", {})).encode())
    return found


@pytest.fixture
def made(host):
    return planned(equipped(host))


def test_parts_that_stall_name_those_whom_none_of_them_has(made):
    told = statuses(
        made,
        n1={"stalled": True, "waiting": [2, 3, 4]},
        n2={"stalled": True, "waiting": [1, 3, 4]},
        n3={"state": "offline"},
        n4={"state": "offline"},
    )
    assert missed(made, told, {}, {}) == (
        [3, 4],
        "stalled: more than half of the 4 nodes must be there, and nodes 1 and 2, roots of parts of the network, miss"
        " nodes 3 and 4",
    )


def test_parts_that_are_all_there_and_cannot_hear_each_other_name_each_other(made):
    told = statuses(made, n1={"stalled": True, "waiting": [3, 4]}, n3={"stalled": True, "waiting": [1, 2]})
    nodes, reason = missed(made, told, {}, {})
    assert nodes == [1, 2, 3, 4]
    assert reason.endswith("and nodes 1 and 3, roots of parts of the network, miss nodes 1, 2, 3 and 4")


@pytest.mark.parametrize(
    "changes",
    [{"run": 9}, {"state": "offline"}, {"waiting": []}, {"waiting": [77]}, {"stalled": 1}],
    ids=["another run", "gone", "nobody named", "a stranger named", "no truth value"],
)
def test_a_word_of_stalling_that_says_nothing_of_this_run_is_none(made, changes):
    told = statuses(made, n1={"stalled": True, "waiting": [2, 3, 4]} | changes, n4={"state": "offline"})
    assert "stalled" not in missed(made, told, {}, {})[1]


def test_in_gossip_who_keeps_all_its_neighbours_waiting_is_named_and_not_who_waits_in_turn(host):
    made = planned(equipped(host), schedule="gossip")
    mute = 3
    near = made.rows[mute]["near"]
    other = next(node for node in near if len(made.rows[node]["near"]) > 1)
    told = statuses(
        made, **{f"n{node}": {"waiting": [mute]} for node in near}, **{f"n{mute}": {"waiting": [other]}}
    )
    nodes, reason = missed(made, told, {}, {})
    assert nodes == [mute]
    assert reason.startswith(f"no contribution from node {mute} from step 0 on, though online")


def test_a_node_whose_data_go_bad_leaves_and_the_others_are_not_waited_for_in_vain(host):
    data = equipped(host)
    made = planned(data)
    leaf = leaf_of(made)

    def spoil():
        # What the node sees of its flash: whatever it is asked for next, the block is not what was stored.
        host.bus.nodes[leaf].points.blocks = Damaged()

    outcome, story = disturbed(host, made, spoil)
    require_partial(outcome, data, [leaf])
    assert outcome.absent == [leaf]
    assert outcome.statuses[leaf]["problem"] == "the data can't be read: block 3 of data.bin is damaged"
    reasons = [told["reason"] for told in story.of("waiting")]
    assert any(f"node {leaf} says: the data can't be read: block 3" in reason for reason in reasons)
    told = f"node {leaf} says: the data can't be read: block 3 of data.bin is damaged; give the nodes"
    with pytest.raises(NotReady, match=told):
        survey(host, NODES).held_dataset()


class Damaged:
    """Blocks of which one is damaged."""

    def __iter__(self):
        raise DataError("block 3 of data.bin is damaged")
