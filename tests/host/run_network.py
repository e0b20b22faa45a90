"""A small network on the bus with its data, and runs of it, for tests of what the host does in a run."""

import json

import numpy as np
from bus_connection import BusConnection

from dcka.config import from_mapping
from dcka.inject.dataset import from_values
from dcka.inject.transfer import send
from dcka.runs.controller import run
from dcka.runs.plan import plan

NODES = (1, 2, 3, 4)


def configuration(topology="line", **run_section):
    """Four nodes, on a line unless another topology is named, so that the tree has a depth; K = 3."""
    return from_mapping(
        {
            "network": {"name": "lab", "nodes": list(NODES)},
            "topology": {"kind": topology, "split": 2} if topology == "line" else {"kind": topology},
            "run": {"k": 3, "seed": 4, "patience_ms": 200, **run_section},
        }
    )


def readings(seed=1):
    """Three clouds, unevenly spread over the nodes."""
    stream = np.random.default_rng(seed)
    places = np.array([[0.0, 0.0], [5.0, 1.0], [2.0, 6.0]])
    return from_values(
        "clouds",
        ("x", "y"),
        {
            node: np.repeat(places, 10 + node, axis=0) + stream.normal(size=(3 * (10 + node), 2))
            for node in NODES
        },
    )


def equipped(host: BusConnection, seed=1):
    """Boot the nodes and give them their data; the data set."""
    for node in NODES:
        host.bus.add(node, None)
    data = readings(seed)
    send(host, data)
    host.forget()
    host.sent.clear()
    return data


def planned(data, number=1, topology="line", **overrides):
    """A plan of run `number`."""
    return plan(
        configuration(topology), data.record(), number, max_message=dict.fromkeys(NODES, 4096), **overrides
    )


def will(host, node):
    """A node dies, and the broker says so."""
    machine = host.bus.nodes[node]
    topic, payload = machine.will()
    host.bus.kill(node)
    host.bus.publish(topic, payload, True)


def unheard(host, node):
    """The broker takes nothing of what the node says of its sums in `tree`."""
    publish = host.bus.publish

    def denied(topic, payload, retain=False):
        if topic != f"dcka/lab/x/0/{node}":
            publish(topic, payload, retain)

    host.bus.publish = denied


def leaf_of(made):
    """A node without children that isn't the root."""
    return next(node for node, row in made.rows.items() if not row.get("children") and node != made.root)


def ended(kind_of_event, told, step):
    """Whether an event says that outer step `step` has ended at some node, at the root in `tree`."""
    return kind_of_event == "step" and told["step"] == step


class Story:
    """The events of a run, as they were told; `at`: called with each."""

    def __init__(self, at=lambda kind, data: None):
        self.told = []
        self._at = at

    def __call__(self, kind, data):
        json.dumps(data)  # what is told can be shown and sent on
        self.told.append((kind, data))
        self._at(kind, data)

    def of(self, kind):
        """The data of the events of a kind."""
        return [data for told, data in self.told if told == kind]


def undisturbed(kind, make_host, number=1):
    """The centres, counts and SSD of a run that nothing disturbs."""
    host = make_host()
    data = equipped(host)
    return final(run(host, planned(data, number, schedule=kind)))


def final(outcome):
    """What every node holds in the end, by node."""
    from dcka.runs.outcome import decode_commit

    held = {node: decode_commit(outcome, node) for node in outcome.members}
    return {node: (commit.step, commit.centres, commit.counts, commit.ssd) for node, commit in held.items()}
