"""What a monitor hears of a real run on the bus, message by message; and what of the history must not depend on how."""

from bus_connection import BusConnection, HostBus
from run_network import NODES, equipped, planned

from dcka.history.store import Store
from dcka.history.transcriber import Transcriber
from dcka.monitor import NetworkState
from dcka.mqtt import Message
from dcka.mqtt.statuses import PayloadError
from dcka.runs.controller import run

KINDS = ("run", "dataset", "status", "step", "commit", "result")
T0 = 1_700_000_000.0


class Heard:
    """`messages`: (suffix, payload), in order. `retained`: what the broker keeps at the end. `outcome`: of its host."""

    def __init__(self, kind, number=1, **overrides):
        bus = HostBus("lab")
        host = BusConnection(bus)
        self.data = equipped(host)
        self.messages = [("dataset", _encoded(self.data.record()))]
        pass_on = bus.watch

        def listen(topic, payload):
            suffix = topic.removeprefix("dcka/lab/")
            if suffix.partition("/")[0] in KINDS:
                self.messages.append((suffix, bytes(payload)))
            pass_on(topic, payload)

        bus.watch = listen
        self.plan = planned(self.data, number, schedule=kind, **overrides)
        self.outcome = run(host, self.plan)
        bus.watch = pass_on
        assert self.outcome.finished
        kept = {topic.removeprefix("dcka/lab/"): bytes(payload) for topic, payload in bus.retained.items()}
        kept["dataset"] = self.messages[0][1]
        self.retained = [
            (suffix, kept[suffix]) for suffix in sorted(kept) if suffix.partition("/")[0] in KINDS
        ]


def _encoded(record):
    from dcka.mqtt.connection import encoded

    return encoded(record)


def hand_over(recorder, messages, retained=False, at=T0, state=None):
    """As `watch` does: through a NetworkState, which says what is news; a millisecond between two messages."""
    state = state or NetworkState("lab", NODES)
    for place, (suffix, payload) in enumerate(messages):
        node = int(suffix.partition("/")[2] or 0)
        message = Message(suffix, payload, retained, at + place / 1000)
        try:
            events = state.take(node, message, message.at)
        except PayloadError as error:
            for event in state.rejected(suffix, str(error), message.at):
                recorder.event(event)
        else:
            recorder.message(node, message, events, message.at)
    return state


class Writer:
    """As a recorder, in this thread: a batch of every `each` messages."""

    def __init__(self, history, each=50):
        self._store = Store(history.engine)
        self._transcriber = Transcriber("lab", "the session")
        self._each = each
        self._count = 0

    def message(self, node, message, events, at):
        self._transcriber.message(node, message, at, events)
        self._count += 1
        if self._count % self._each == 0:
            self.write()

    def event(self, event):
        self._transcriber.event(event)

    def write(self):
        self._store.write(self._transcriber.take())

    def close(self):
        self._store.close()


def recorded(history, messages, each=50, **how):
    """The newest run, after the messages were written."""
    writer = Writer(history, each)
    hand_over(writer, messages, **how)
    writer.write()
    writer.close()
    return history.run("last")


def told(run):
    """All that is stored of a run, but for when, and in which order of storing."""
    record = run.record()
    steps = [{**step, "at": None} for step in record.pop("steps")]
    for name in ("id", "began_at", "heard_at", "gaps", "wall_s"):
        record.pop(name)
    return {**record, "steps": steps}
