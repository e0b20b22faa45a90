"""A survey, and the number of the next run: never one that anybody knows already."""

import json

import pytest
from bus_connection import host
from run_network import NODES, equipped, planned, will
from runs_samples import outcome

from dcka.config import State
from dcka.mqtt.readiness import NotReady, named
from dcka.runs.controller import dismiss, run
from dcka.runs.survey import next_number, survey

__all__ = ["host"]


@pytest.fixture
def state(tmp_path):
    return State(tmp_path)


def test_it_finds_the_nodes_and_the_record_of_their_data(host):
    data = equipped(host)
    found = survey(host, NODES)
    assert sorted(found.statuses) == list(NODES)
    assert found.dataset_record == data.record()
    assert found.held_dataset() == data.id.hex()
    assert found.max_message == dict.fromkeys(NODES, 4096)
    assert found.last_number == 0


def test_who_is_absent_is_named(host):
    equipped(host)
    will(host, 4)
    with pytest.raises(NotReady, match="node 4 of network lab is not online"):
        survey(host, NODES)


def test_nodes_that_hold_different_data_are_named(host):
    data = equipped(host)
    status = json.loads(host.bus.retained["dcka/lab/status/3"])
    host.bus.retained["dcka/lab/status/3"] = json.dumps(status | {"dataset": "ab" * 8}).encode()
    with pytest.raises(NotReady) as caught:
        survey(host, NODES).held_dataset()
    assert f"nodes 1, 2 and 4: {data.id.hex()}; node 3: {'ab' * 8}" in str(caught.value)
    host.bus.retained["dcka/lab/status/3"] = json.dumps(status | {"dataset": ""}).encode()
    with pytest.raises(
        NotReady, match="node 3: no data there; give the nodes their readings with dcka inject"
    ):
        survey(host, NODES).held_dataset()


@pytest.mark.parametrize(
    "garbage", [b"{", b'{"v":1}', b'{"v":1,"run":"9"}', b'{"v":1,"dataset":5,"nodes":{}}']
)
def test_garbage_that_is_retained_is_counted_and_passed_over(host, garbage):
    equipped(host)
    for topic in ("run", "dataset"):
        host.bus.retained[f"dcka/lab/{topic}"] = garbage
    found = survey(host, NODES)
    assert (found.last_number, found.dataset_record) == (0, None)
    assert {topic for topic, _ in host.rejected} == {"run", "dataset"}


def test_the_next_number_is_above_what_the_broker_keeps(host, state):
    data = equipped(host)
    assert next_number(survey(host, NODES), state) == 1
    run(host, planned(data, 5))
    assert next_number(survey(host, NODES), state) == 6
    dismiss(host, 8)
    host.bus.settle()
    assert next_number(survey(host, NODES), state) == 9


def test_the_next_number_is_above_what_the_nodes_know_though_the_broker_forgot(host, state):
    data = equipped(host)
    run(host, planned(data, 5))
    del host.bus.retained["dcka/lab/run"]
    assert next_number(survey(host, NODES), state) == 6


def test_the_next_number_is_above_what_is_kept_here(host, state):
    equipped(host)
    outcome(run=3).save(state)
    outcome(run=20).save(state)
    assert next_number(survey(host, NODES), state) == 21
    outcome(run=20, finished=False).save(state)  # 21 was the record that ended it
    assert next_number(survey(host, NODES), state) == 22


def test_many_nodes_are_named_in_short():
    assert named([3]) == "node 3"
    assert named([3, 1]) == "nodes 1 and 3"
    assert named(range(1, 21)) == "nodes 1, 2, 3, 4, 5, 6, 7, 8 and 12 more"
