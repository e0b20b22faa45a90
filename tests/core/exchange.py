"""`gossip`'s mass alone: nodes that mix at any moments, and what is on its way between them."""

from scenes import Scene, gossip_rows

from dcka_core.codec import Reader
from dcka_core.errors import MessageError
from dcka_core.gossip import Gossip
from dcka_core.record import read_rows, read_run
from dcka_core.starts import Stream

ANY = (1 << 64) - 1
K, N = 2, 1
ROWS = K * (N + 1)


class Exchange:
    """Nodes that only mix: each may go to its next slot at any moment, each message may come at any moment or never.

    What is on its way is reckoned from the messages alone: by link, the running sums last said less those last seen.
    """

    def __init__(self, phases, seed, points=40, step=0):
        self.ids = sorted({node for phase in phases for link in phase for node in link})
        self.links = [
            (a, b, phase)
            for phase in range(len(phases))
            for one, two in phases[phase]
            for a, b in ((one, two), (two, one))
        ]
        scene = Scene(
            {}, phases, n=N, k=K, points=points, window=2 * len(phases), members=self.ids, max_slots=10000
        )
        self.run = read_run(scene.record())
        self.rows = gossip_rows(1, self.ids, phases)
        self.stream = Stream(seed, b"exchange")
        self.mask = (1 << self.run.modulus_bits) - 1
        self.nodes = {}
        self.total = [0] * ROWS
        self.said = {}
        self.seen = {}
        self.waits = {}
        self.under_way = []
        for node in self.ids:
            self.begin(node, 1, self.draw(points // len(self.ids)), step)

    def draw(self, count):
        sums = []
        for _ in range(K):
            count_here = self.stream.below(count + 1)
            sums.extend([count_here, count_here * self.stream.below(32768)])
        return sums

    def begin(self, node, boot, sums, step=0):
        gossip = self.nodes[node] = Gossip(self.run, read_rows(self.rows[node]), node, boot)
        gossip.begin(step, sums, True)
        for index in range(ROWS):
            self.total[index] += sums[index] << self.run.fraction

    def sums_for(self, link, payload):
        """(slot, running sums) that a message has for the receiver of this link."""
        sender, receiver, phase = link
        reader = Reader(payload)
        reader.byte()
        for _ in range(5):
            reader.varint(ANY)
        slot = reader.varint(ANY)
        reader.varint(ANY)
        hear = dict([tuple(pair) for pair in self.rows[receiver]["phases"][phase]["hear"]])
        width = (self.run.modulus_bits + 7) // 8
        reader.take(hear[sender] * ROWS * width)
        return slot, [reader.integer(width) for _ in range(ROWS)]

    def enter(self, node):
        """To the next slot, and what is said there goes on its way."""
        gossip = self.nodes[node]
        gossip.enter_slot()
        lost = []
        gossip.take_early(lost)
        assert lost == []
        phase = gossip.phase
        for link in self.links:
            if link[1] == node and link[2] == phase and self.waits.get(link, (-1, 0))[0] == gossip.slot:
                self.see(link, self.waits.pop(link))
        payload = bytes(gossip.message(phase))
        for link in self.links:
            if link[0] == node and link[2] == phase:
                self.said[link] = self.sums_for(link, payload)
                self.under_way.append((link, payload))

    def see(self, link, what):
        if what[0] > self.seen.get(link, (-1, 0))[0]:
            self.seen[link] = what

    def deliver(self, link, payload):
        """A message comes. A later slot's waits, and only the latest; an older one than the last seen means nothing."""
        gossip = self.nodes[link[1]]
        what = self.sums_for(link, payload)
        if what[0] <= gossip.slot:
            self.see(link, what)
        elif what[0] > self.waits.get(link, (-1, 0))[0]:
            self.waits[link] = what
        try:
            gossip.take(link[0], link[2], payload)
        except MessageError as error:
            assert error.reason in ("stale", "duplicate"), error.reason

    def event(self, loss, double):
        if not self.under_way or self.stream.below(3) == 0:
            self.enter(self.ids[self.stream.below(len(self.ids))])
            return
        place = self.stream.below(len(self.under_way))
        link, payload = self.under_way[place]
        if self.stream.below(100) >= double:
            self.under_way.pop(place)
        if self.stream.below(100) >= loss:
            self.deliver(link, payload)

    def on_its_way(self):
        sums = [0] * ROWS
        for link in self.said:
            seen = self.seen.get(link, (-1, [0] * ROWS))[1]
            for index in range(ROWS):
                sums[index] += (self.said[link][1][index] - seen[index]) & self.mask
        return sums

    def check(self, where):
        """The law."""
        away = self.on_its_way()
        for index in range(ROWS):
            here = [self.nodes[node].mass[index] for node in self.ids]
            assert min(here) >= 0, where
            assert sum(here) + away[index] == self.total[index], (where, here, away[index], self.total[index])

    def level(self):
        """Everybody to one slot, and then everybody's last word of every phase to everybody."""
        last = max([self.nodes[node].slot for node in self.ids])
        for node in self.ids:
            while self.nodes[node].slot < last:
                self.enter(node)
        for link in self.links:
            payload = bytes(self.nodes[link[0]].message(link[2]))
            if payload:
                self.deliver(link, payload)
