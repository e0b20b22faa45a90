"""Histories that hold runs of the firmware's own nodes: in memory, each message recorded as a monitor does."""

from dataclasses import dataclass, field

from dcka.config import from_mapping
from dcka.datasets import gaussians
from dcka.emulation.in_memory import Network
from dcka.estimator.nodes import MAX_MESSAGE, held
from dcka.history import Recorder, open_history
from dcka.monitor.state import NetworkState
from dcka.mqtt.connection import Message, encoded
from dcka.runs.plan import plan

BEGAN_AT = 1_750_000_000.0
HEARD = ("run", "dataset", "step", "commit", "result", "status")
FLUSH_S = 60.0


@dataclass
class Heard:
    """What a monitor hears of a network, in order: (seconds since 1970, message)."""

    network: Network
    messages: list[tuple[float, Message]] = field(default_factory=list)

    def published(self, sender, topic, payload, hearers):
        if topic.partition("/")[0] in HEARD:
            at = BEGAN_AT + self.network.now / 1000
            self.messages.append((at, Message(topic, payload, False, at)))

    def subscribed(self, node):
        pass

    def again(self, topic, payload, hearer):
        pass


def simulated(name="greenhouse", numbers=(1,), kind="tree", per_gaussian=6, k=3):
    """(data set, messages) of runs of these numbers, one after the other, on five nodes."""
    dataset = gaussians(1, per_gaussian=per_gaussian)
    config = from_mapping({"network": {"name": name}, "run": {"schedule": kind, "k": k}})
    network = Network(held(dataset))
    network.observer = heard = Heard(network)
    network.publish(None, "dataset", encoded(dataset.record()), True)
    for number in numbers:
        made = plan(config, dataset.record(), number, max_message=dict.fromkeys(config.ids, MAX_MESSAGE))
        for node, row in made.rows.items():
            network.publish(None, f"rows/{node}", encoded(row), True)
        network.settle()
        network.publish(None, "run", encoded(made.record), True)
        network.run(lambda now=number: all(_ended(network, node, now) for node in config.ids), 1 << 27)
        network.settle()
    return dataset, heard.messages


def store(file, name="greenhouse", **settings):
    """Record such runs in a history at `file`; the data set that they cluster."""
    dataset, messages = simulated(name, **settings)
    state = NetworkState(name, dataset.node_ids)
    with open_history(str(file)) as history, Recorder(history, name) as recorder:
        for at, message in messages:
            node = int(message.suffix.rpartition("/")[2] or 0) if "/" in message.suffix else 0
            recorder.message(node, message, state.take(node, message, at), at)
        assert recorder.flush(FLUSH_S) and not recorder.lost and not recorder.trouble
    return dataset


def _ended(network, node, number):
    session = network.session(node)
    return session is not None and session.run.number == number and session.done
