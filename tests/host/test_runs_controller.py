"""A run as the host drives it, on real node cores in memory: it ends, and says what became of it."""

import json

import pytest
from bus_connection import BusConnection, HostBus, host, retained
from run_network import NODES, Story, ended, equipped, final, leaf_of, planned, unheard, will

from dcka.mqtt.connection import encoded
from dcka.mqtt.readiness import NotReady
from dcka.runs.controller import dismiss, run
from dcka.runs.outcome import Outcome
from dcka_core.messages import peek_run

__all__ = ["host"]

KINDS = ("tree", "gossip")


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def calm(kind, host):
    """What a run comes to that nothing disturbs; the host's clock goes on."""
    bus = HostBus("lab")
    bus.now = host.bus.now
    other = BusConnection(bus)
    data = equipped(other)
    return final(run(other, planned(data, schedule=kind)))


def records(host, suffix):
    """What the host has published on a topic, in order."""
    return [json.loads(payload) for sent, payload, _ in host.sent if sent == suffix and payload]


def test_every_node_ends_with_the_same_and_the_outcome_has_it_all(host, kind):
    data = equipped(host)
    made = planned(data, 7, schedule=kind)
    story = Story()
    outcome = run(host, made, on_event=story)
    assert (outcome.finished, outcome.reason, outcome.waiting, outcome.rejected) == (True, "", [], 0)
    assert outcome.settled
    assert (outcome.run, outcome.network, outcome.kind) == (7, "lab", kind)
    assert outcome.dataset == data.id.hex()
    assert sorted(outcome.results) == list(NODES)
    assert (
        {**outcome.record, "id": None} == {**made.record, "id": None}
        and len(outcome.record["id"]) == 8
        and outcome.rows == made.rows
    )
    if kind == "tree":
        assert len({repr(held) for held in final(outcome).values()}) == 1
        assert list(outcome.steps) == [made.root]
    else:
        assert sorted(outcome.steps) == list(NODES)
    for steps in outcome.steps.values():
        assert [step["step"] for step in steps] == list(range(outcome.results[1]["steps"]))
    assert {status["state"] for status in outcome.statuses.values()} == {"done"}
    assert Outcome.from_json(json.loads(json.dumps(outcome.to_json()))) == outcome
    assert [data["node"] for data in story.of("prepared")] != []
    assert len(story.of("begun")) == 1
    assert sorted(data["node"] for data in story.of("result")) == list(NODES)


def test_rows_come_before_the_record_and_all_of_it_is_retained(host, kind):
    data = equipped(host)
    run(host, planned(data, schedule=kind))
    topics = [suffix for suffix, _, _ in host.sent]
    assert topics == [*(f"rows/{node}" for node in NODES), "run"]
    assert all(retain for _, _, retain in host.sent)


def test_a_second_run_on_the_same_connection_is_not_mistaken_for_the_first(host, kind, calm):
    data = equipped(host)
    first = run(host, planned(data, 1, schedule=kind))
    second = run(host, planned(data, 2, schedule=kind))
    assert second.run == 2
    assert final(first) == final(second) == calm
    assert second.rejected == 0


@pytest.mark.parametrize(
    "lost", ["rows/3", "run", "status/2", "result/1", "result/4", "commit/1", "commit/2"]
)
def test_whatever_is_lost_once_is_mended(host, kind, calm, lost):
    data = equipped(host)
    gone = []

    def once(suffix, payload):
        if suffix != lost or (payload and b'"prepared":0' in payload.replace(b" ", b"")):
            return False
        gone.append(payload)
        return len(gone) == 1

    host.lose = once
    host.on_way = lambda suffix, payload: (
        None if lost in ("rows/3", "run") and once(suffix, payload) else payload
    )
    outcome = run(host, planned(data, schedule=kind))
    assert gone
    assert outcome.finished
    assert final(outcome) == calm


def test_a_result_that_is_lost_for_good_is_rebuilt_from_the_final_commit(host, kind, calm):
    data = equipped(host)
    whole = run(host, planned(data, 1, schedule=kind)).results[2]
    host.lose = lambda suffix, payload: suffix == "result/2"
    outcome = run(host, planned(data, 2, schedule=kind))
    assert outcome.finished
    rebuilt = outcome.results[2]
    assert rebuilt["rebuilt"] is True
    same = ("node", "steps", "converged", "ssd", "flags", "missing")
    assert {name: rebuilt[name] for name in same} == {name: whole[name] for name in same}
    assert final(outcome) == calm


def test_a_final_commit_that_is_never_seen_leaves_the_run_unfinished(host, kind):
    data = equipped(host)
    host.lose = lambda suffix, payload: suffix == "commit/3"
    outcome = run(host, planned(data, schedule=kind))
    assert not outcome.finished
    assert outcome.waiting == [3]
    assert outcome.reason == "the final commit of node 3 was not seen; run again"


def test_an_outage_in_which_the_broker_forgets_everything_changes_nothing(host, kind, calm):
    data = equipped(host)
    outages = []

    def at(kind_of_event, told):
        if ended(kind_of_event, told, 1) and not outages:
            outages.append(told)
            host.outage(retained_lost=True)

    host.sent.clear()
    outcome = run(host, planned(data, schedule=kind), on_event=Story(at))
    assert outages
    assert outcome.finished
    assert final(outcome) == calm
    assert json.loads(retained(host, "dataset")) == data.record()
    assert json.loads(retained(host, "run")) == outcome.record
    assert {node: json.loads(retained(host, f"rows/{node}")) for node in NODES} == outcome.rows


def test_a_node_that_dies_is_named_and_the_others_are_told_that_it_is_over(host, kind):
    data = equipped(host)
    dead = []

    def at(kind_of_event, told):
        if ended(kind_of_event, told, 0) and not dead:
            dead.append(4)
            will(host, 4)

    story = Story(at)
    outcome = run(host, planned(data, 5, schedule=kind), limit_s=2, on_event=story)
    assert not outcome.finished
    assert outcome.waiting == [4]
    assert outcome.reason.startswith("no contribution from node 4 ")
    assert outcome.reason.endswith("it is offline")
    assert 4 not in outcome.results
    assert story.of("waiting")[-1]["nodes"] == [4]
    assert json.loads(retained(host, "run")) == {"v": 1, "run": 6, "kind": "idle"}
    host.bus.settle()
    assert all(machine.session is None for machine in host.bus.nodes.values())


def test_a_node_whose_sums_nobody_hears_is_named_with_the_step(host):
    data = equipped(host)
    made = planned(data, schedule="tree")
    leaf = leaf_of(made)
    unheard(host, leaf)
    outcome = run(host, made, limit_s=1)
    assert outcome.waiting == [leaf]
    assert outcome.reason == (
        f"no contribution from node {leaf} in step 0, though online: does the broker take what they publish?"
    )


def test_a_leaf_that_restarts_finds_its_run(host, calm, kind):
    data = equipped(host)
    made = planned(data, schedule=kind)
    leaf = leaf_of(made)

    def at(kind_of_event, told):
        if ended(kind_of_event, told, 1) and host.bus.boots[leaf] == 1:
            will(host, leaf)
            host.bus.boot(leaf)

    outcome = run(host, made, limit_s=30, on_event=Story(at))
    assert host.bus.boots[leaf] == 2
    assert outcome.finished
    if kind == "tree":
        assert final(outcome) == calm


def test_ctrl_c_tells_the_nodes_that_it_is_over(host, kind):
    data = equipped(host)

    def at(kind_of_event, told):
        if ended(kind_of_event, told, 0):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(host, planned(data, 5, schedule=kind), on_event=Story(at))
    assert json.loads(retained(host, "run")) == {"v": 1, "run": 6, "kind": "idle"}
    host.bus.settle()
    assert all(machine.session is None for machine in host.bus.nodes.values())


def test_a_run_that_is_stopped_from_elsewhere_ends_and_says_so(host, kind):
    data = equipped(host)
    done = []

    def at(kind_of_event, told):
        if ended(kind_of_event, told, 0) and not done:
            done.append(told)
            dismiss(host, 9)

    outcome = run(host, planned(data, 5, schedule=kind), limit_s=20, on_event=Story(at))
    assert not outcome.finished
    assert outcome.reason == "run 5 was ended from elsewhere"
    assert records(host, "run")[-1]["run"] == 9


def test_another_hosts_run_is_left_alone(host, kind):
    data = equipped(host)

    def at(kind_of_event, told):
        if kind_of_event == "begun":
            host.arrive("run", json.dumps({**planned(data, 6).record}).encode())

    outcome = run(host, planned(data, 5, schedule=kind), on_event=Story(at))
    assert outcome.reason == "run 5 was overtaken by run 6"
    assert [record["run"] for record in records(host, "run")] == [5]


def test_what_is_wrong_with_the_nodes_is_said_before_anything_is_published(host):
    data = equipped(host)
    will(host, 2)
    host.bus.settle()
    with pytest.raises(
        NotReady, match=r"node 2 of network lab is not online at mqtt://127\.0\.0\.1:1883, waited 6 s"
    ) as caught:
        run(host, planned(data))
    assert caught.value.nodes == (2,)
    host.bus.boot(2)
    other = planned(data)
    other.record["dataset"] = "ff" * 8
    with pytest.raises(NotReady, match=r"nodes 1, 2, 3 and 4 hold another dataset .*dcka inject"):
        run(host, other)
    assert host.sent == []


def test_a_node_that_comes_while_we_wait_is_in(host, kind, calm):
    data = equipped(host)
    will(host, 4)
    ask = host.ask

    def late(*suffixes):
        if 4 not in host.bus.nodes and host.bus.now > gone_at + 3000:
            host.bus.boot(4)
        ask(*suffixes)

    gone_at = host.bus.now
    host.ask = late
    assert final(run(host, planned(data, schedule=kind))) == calm


def test_a_member_that_sleeps_is_waited_for_and_people_are_told_for_how_long(host, kind, calm):
    data = equipped(host)
    status = {**json.loads(retained(host, "status/3")), "state": "asleep", "until_ms": 2_400_000}
    host.bus.kill(3)
    host.bus.publish("dcka/lab/status/3", encoded(status), True)
    story = Story()
    woken = []

    def wake(event, data):
        story(event, data)
        if event == "waiting" and data["nodes"]:
            # Asleep for 40 minutes, and its clock is 5 % slow.
            host.bus.now += 2_520_000
            host.bus.boot(3)
            woken.append(3)

    outcome = run(host, planned(data, schedule=kind), on_event=wake)
    first, last = story.of("waiting")[0], story.of("waiting")[-1]
    assert woken and first == {"nodes": [3], "reason": "node 3 sleeps for another 40 min"}
    assert outcome.finished and final(outcome) == calm
    assert last["nodes"] == []


def test_without_waiting_for_sleepers_one_ends_the_run_before_it_begins(host, kind):
    data = equipped(host)
    status = {**json.loads(retained(host, "status/3")), "state": "asleep", "until_ms": 30_000}
    host.bus.kill(3)
    host.bus.publish("dcka/lab/status/3", encoded(status), True)
    story = Story()
    outcome = run(host, planned(data, schedule=kind), await_sleepers=False, on_event=story)
    assert not outcome.finished and outcome.waiting == [3] and not story.of("begun")
    assert outcome.reason == "node 3 sleeps for another 30 s, and is not waited for"
    assert records(host, "run")[-1]["kind"] == "idle"


def test_a_node_without_data_is_told_apart(host):
    data = equipped(host)
    host.bus.points[3] = None
    will(host, 3)
    host.bus.boot(3)
    with pytest.raises(NotReady, match="node 3 has no data: give the nodes their readings with dcka inject"):
        run(host, planned(data))


def test_two_nodes_of_one_id_are_refused(host):
    data = equipped(host)
    status = json.loads(retained(host, "status/2"))
    host.bus.retained["dcka/lab/status/2"] = json.dumps(status | {"twin": True}).encode()
    with pytest.raises(NotReady, match="node 2: two devices or processes use the same id"):
        run(host, planned(data))
    assert host.sent == []


def test_two_nodes_of_one_id_that_show_in_mid_run_end_it(host, kind):
    """C23: the one throws the other out, and that one comes back."""
    data = equipped(host)
    done = []

    def at(kind_of_event, told):
        if ended(kind_of_event, told, 0) and not done:
            done.append(told)
            status = json.loads(retained(host, "status/2"))
            for nonce in (99, status["nonce"]):
                host.arrive("status/2", json.dumps(status | {"nonce": nonce}).encode())

    outcome = run(host, planned(data, schedule=kind), on_event=Story(at))
    assert not outcome.finished
    assert outcome.waiting == [2]
    assert outcome.reason.startswith("node 2: two devices or processes use the same id")


def test_nodes_that_know_a_newer_run_do_not_keep_us_for_ever(host):
    data = equipped(host)
    run(host, planned(data, 8))
    del host.bus.retained["dcka/lab/run"]
    outcome = run(host, planned(data, 3))
    assert not outcome.finished
    assert outcome.reason == "nodes 1, 2, 3 and 4 did not take the rows of run 3: is a newer run known there?"
    assert outcome.waiting == list(NODES)


def test_a_node_that_cannot_take_part_ends_the_run_soon(host):
    data = equipped(host)

    def at(kind_of_event, told):
        if kind_of_event == "begun":
            host.bus.nodes[2].points.dataset = bytes(8)

    began = host.bus.now
    outcome = run(host, planned(data), on_event=Story(at))
    assert outcome.waiting == [2]
    assert outcome.reason == "node 2 cannot take part; node 2 says: data of another dataset"
    assert host.bus.now - began < 10_000


def test_what_former_nodes_left_is_cleared(host, kind):
    data = equipped(host)
    for suffix in ("rows/9", "commit/9", "commit/2"):
        host.bus.retained[f"dcka/lab/{suffix}"] = b"left"
    run(host, planned(data, schedule=kind))
    assert retained(host, "rows/9") is None
    assert retained(host, "commit/9") is None
    assert peek_run(retained(host, "commit/2")) == 1
    assert {suffix for suffix, payload, _ in host.sent if not payload} == {"rows/9", "commit/9"}
