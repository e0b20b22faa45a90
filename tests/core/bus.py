"""A network of nodes in one process: a broker that delivers what it is told, a clock that is told to go on.

Runs on every interpreter. Faults are drawn from a seeded stream: messages on the x and epoch topics (and `commit`,
where `everything` is set, retained ones too) are lost, doubled or delayed past others. The clock wraps as a board's.
"""

from array import array
from hashlib import sha256
from io import BytesIO
from json import dumps, loads

from dcka_core import ticks
from dcka_core.actions import ADOPT, APPEND, DROP, MAKE, PUBLISH, SAVE, SLEEP, SUBSCRIBE, UNSUBSCRIBE, UPDATE
from dcka_core.node import Node
from dcka_core.points import load, new_points
from dcka_core.starts import Stream
from dcka_core.survey_points import data_file
from dcka_core.update import NO_VERSIONS, refusal


def make_points(n, bits, dataset, extents, readings):
    """Points from a flat list of integers."""
    count = len(readings) // n
    points = new_points(n, bits, count, dataset, extents)
    for start in range(0, count, points.per_block):
        here = min(points.per_block, count - start)
        points.blocks.append((array("H", readings[start * n : (start + here) * n]), here))
    points.digest = bytes([n, bits, count & 255, count >> 8 & 255]) + bytes(28)
    return points


def make_readings(n, dataset, values):
    """Readings, as they were read, from a flat list of integers of 32 bits."""
    count = len(values) // n
    points = new_points(n, 32, count, dataset, [])
    for start in range(0, count, points.per_block):
        here = min(points.per_block, count - start)
        points.blocks.append((array("i", values[start * n : (start + here) * n]), here))
    points.digest = sha256(repr((n, values)).encode()).digest()
    return points


class Bus:
    """Broker, clock and flash for a few nodes.

    begin: the clock's first tick. log, trace: lists to be filled with (topic, payload) of what is published, and with
    (node, action) of what the nodes ask for. watch: called with (topic, payload) of each. lose: a function of (topic,
    receiver, payload) that says whether this delivery is lost. ppm: by node, how much its clock is fast, in millionths.
    connect_ms: what a node takes to be there again after a sleep. asleep: by node, its tick at which it is back.
    """

    def __init__(self, network="t", begin=0):
        self.network = network
        self.now = begin
        self.elapsed = 0
        self.nodes = {}
        self.flash = {}
        self.points = {}
        # By node (dataset, a function that reads them); what it raises, a node has to cope with.
        self.readings = {}
        self.boots = {}
        self.topics = {}
        self.offline = []
        self.ppm = {}
        self.connect_ms = 0
        self.asleep = {}
        self.slept = {}
        self.retained = {}
        self.queue = []
        self.log = None
        self.trace = None
        self.watch = None
        self.lose = None
        self.stream = None
        self.order = None
        self.loss = self.double = self.delay = 0
        self.everything = False
        # Whether the broker is away.
        self.away = False

    # ---- nodes ----

    def add(self, node, points):
        """A node with these points on its flash."""
        self.points[node] = points
        self.flash[node] = {}
        self.boot(node)

    def boot(self, node):
        """(Re)start a node from what is on its flash."""
        boot = self.boots[node] = self.boots.get(node, 0) + 1
        flash = self.flash[node]
        memory = flash.get("run.json")
        machine = Node(
            self.network,
            node,
            boot,
            node * 1000 + boot,
            None if memory is None else loads(memory),
            flash.get("commit.bin", b""),
            4096,
            "test",
            _vitals,
        )
        self.born(machine)
        self.nodes[node] = machine
        self.topics[node] = []
        if self.points[node] is not None:
            self.perform(node, machine.data_loaded(self.points[node], self.time(node)))
        if node in self.readings:
            dataset, load_readings = self.readings[node]
            self.perform(node, machine.readings_held(dataset, load_readings, self.time(node)))
        for topic in machine.standing_topics():
            self.subscribe(node, topic)
        self.perform(node, machine.connected(self.time(node)))

    def born(self, machine):
        """A node is about to start: where it gets parts that not every node has."""

    def kill(self, node):
        """Power off: what was on its way to it is lost, and its will is published."""
        will = self.nodes[node].will()
        del self.nodes[node]
        if self.asleep.pop(node, None) is not None:
            self.offline.remove(node)
        self.topics[node] = []
        self.queue = [item for item in self.queue if item[1] != node]
        self.publish(will[0], will[1], True)

    def unplug(self, node):
        """The node's link is down: nothing comes in, nothing goes out."""
        self.offline.append(node)
        self.queue = [item for item in self.queue if item[1] != node]
        self.nodes[node].disconnected()

    def plug_in(self, node):
        """The link is back, with everything subscribed again."""
        self.offline.remove(node)
        for topic in list(self.topics[node]):
            self.subscribe(node, topic)
        self.perform(node, self.nodes[node].connected(self.time(node)))

    def doze(self, node, wait_ms):
        """The node takes leave for so long by its own clock, and is there again `connect_ms` later."""
        if node not in self.offline:
            self.unplug(node)
        self.asleep[node] = ticks.add(self.time(node), wait_ms + self.connect_ms)
        self.slept[node] = self.slept.get(node, 0) + wait_ms

    def wake(self, node):
        del self.asleep[node]
        if self.away:
            return
        self.plug_in(node)

    def perform(self, node, actions):
        """Do what a node's core asks for."""
        for action in actions:
            if self.trace is not None:
                self.trace.append((node, action))
            what = action[0]
            if what == PUBLISH:
                if node not in self.offline:
                    self.publish(action[1], _frozen(action[2]), action[3])
            elif what == SUBSCRIBE:
                self.subscribe(node, action[1])
            elif what == UNSUBSCRIBE:
                if action[1] in self.topics[node]:
                    self.topics[node].remove(action[1])
            elif what == SAVE:
                self.flash[node][action[1]] = _frozen(action[2])
            elif what == APPEND:
                before = b"" if action[3] == 0 else self.flash[node][action[1]]
                self.flash[node][action[1]] = before + bytes(action[2])
            elif what == DROP:
                for name in ("data.bin", "readings.bin", "data.new"):
                    self.flash[node].pop(name, None)
            elif what == SLEEP:
                self.doze(node, action[1])
            elif what == ADOPT:
                self.flash[node][action[2]] = self.flash[node].pop(action[1])
            elif what == UPDATE:
                # A node without versions; test_update has one with.
                self.publish("dcka/t/got/%d" % node, dumps(refusal(action[1], NO_VERSIONS)), False)
            elif what == MAKE:
                self.make(node, action[1], action[2])

    def make(self, node, grid, readings):
        """Quantise a node's readings, as its shell would."""
        readings = readings or self.readings[node][1]()
        content = b"".join([bytes(piece) for piece in data_file(readings, grid)])
        self.flash[node]["data.bin"] = content
        self.points[node] = load(BytesIO(content))
        machine = self.nodes[node]
        machine.forget_data()
        self.perform(node, machine.points_made(self.points[node], grid.told(), self.time(node)))

    # ---- broker ----

    def subscribe(self, node, topic):
        if topic not in self.topics[node]:
            self.topics[node].append(topic)
        if node in self.offline:
            return
        for known in self.retained:
            if _matches(topic, known) and self.retained[known]:
                for _ in range(self.copies(known)):
                    self.queue.append((known, node, self.retained[known]))

    def publish(self, topic, payload, retain=False):
        if isinstance(payload, str):
            payload = payload.encode()
        if retain:
            self.retained[topic] = payload
        if self.log is not None:
            self.log.append((topic, payload))
        if self.watch:
            self.watch(topic, payload)
        for node in self.nodes:
            if node in self.offline or not self.hears(node, topic):
                continue
            if self.lose and self.lose(topic, node, payload):
                continue
            for _ in range(self.copies(topic)):
                self.queue.insert(self.place(topic), (topic, node, payload))

    def hears(self, node, topic):
        topics = self.topics[node]
        return topic in topics or [
            wanted for wanted in topics if wanted[-1] == "+" and _matches(wanted, topic)
        ]

    def copies(self, topic):
        if not self.faulty(topic):
            return 1
        if self.stream.below(100) < self.loss:
            return 0
        return 2 if self.stream.below(100) < self.double else 1

    def place(self, topic):
        size = len(self.queue)
        if size and self.faulty(topic) and self.stream.below(100) < self.delay:
            return self.stream.below(size + 1)
        return size

    def faulty(self, topic):
        if self.stream is None:
            return False
        return "/x/" in topic or "/epoch/" in topic or (self.everything and "/commit/" in topic)

    def faults(self, seed, loss=0, double=0, delay=0, everything=False):
        """From now on, in percent of the deliveries: lost, doubled, put anywhere in the queue."""
        self.stream = Stream(seed, b"faults")
        self.loss, self.double, self.delay, self.everything = loss, double, delay, everything

    def shuffle(self, seed):
        """From now on, deliver in an order drawn from `seed`; only what one receiver gets on one topic stays in order,
        which is what a broker promises.
        """
        self.order = Stream(seed, b"order")

    def next_message(self):
        if self.order is None:
            return self.queue.pop(0)
        topic, node, _ = self.queue[self.order.below(len(self.queue))]
        for place in range(len(self.queue)):
            if self.queue[place][0] == topic and self.queue[place][1] == node:
                return self.queue.pop(place)

    # ---- time ----

    def time(self, node):
        """The node's own clock."""
        return (self.now + self.elapsed * self.ppm.get(node, 0) // 1000000) & (ticks.PERIOD - 1)

    def due(self, node):
        """When the node does something by itself; while it sleeps, only waking."""
        return self.asleep.get(node, self.nodes[node].deadline())

    def wait_of(self, node):
        """So long it is until then, in ms of true time, rounded up."""
        rate = 1000000 + self.ppm.get(node, 0)
        return (ticks.diff(self.due(node), self.time(node)) * 1000000 + rate - 1) // rate

    def step(self):
        """Deliver the next message, or let time pass to the next deadline. False where nothing is left to do."""
        if self.queue:
            topic, node, payload = self.next_message()
            if node in self.nodes:
                self.perform(node, self.nodes[node].receive(topic, payload, self.time(node)))
            return True
        waits = [self.wait_of(node) for node in self.nodes if self.due(node) is not None]
        if not waits:
            return False
        self.sleep(max(0, min(waits)))
        return True

    def sleep(self, wait_ms):
        """Let time pass, and wake the nodes that are due."""
        self.now = ticks.add(self.now, wait_ms)
        self.elapsed += wait_ms
        for node in list(self.nodes):
            due = self.due(node)
            if due is None or ticks.diff(due, self.time(node)) > 0:
                continue
            if node in self.asleep:
                self.wake(node)
            else:
                self.perform(node, self.nodes[node].tick(self.time(node)))

    def settle(self):
        """Deliver all that is on its way, without letting time pass."""
        while self.queue:
            self.step()

    def run(self, finished, limit=200000):
        """Go on until `finished()`; False where it isn't within `limit` events."""
        for _ in range(limit):
            if finished():
                return True
            if not self.step():
                return finished()
        return False

    def run_for(self, time_ms, limit=20000):
        """Go on until so much time has passed."""
        until = self.elapsed + time_ms
        return self.run(lambda: self.elapsed >= until, limit)

    def all_done(self):
        return all(node.session is not None and node.session.done for node in self.nodes.values())


def _frozen(payload):
    return payload if isinstance(payload, str) else bytes(payload)


def _matches(wanted, topic):
    if wanted.endswith("/+"):
        return topic.startswith(wanted[:-1]) and "/" not in topic[len(wanted) - 1 :]
    return wanted == topic


def _vitals():
    return 0, 0
