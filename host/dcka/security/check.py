"""`dcka broker check`: what a broker allows and refuses, proved by publishing and reading back, on any engine.

A broker's own word proves nothing: mosquitto acknowledges what its rules then drop. So every user says something on
every topic, and every user listens to every topic; what came where it may be read was allowed, what did not was
refused. Nothing is retained by it, and nobody's retained message is touched.
"""

import secrets
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from dcka.broker import BrokerUrl
from dcka.broker.access import HOST, TOPICS, Rights
from dcka.security.talkers import Talker

# For a message over connections that stand, and for those that a refused one does not hold up.
FENCE_S = 5.0
ALLOWED, REFUSED = "allowed", "refused"
# Of `gossip`'s phases one stands for all: the rules name none.
_PHASE = "0"


@dataclass(frozen=True)
class Row:
    """One thing that somebody may do, or not. `why`: what was seen, where it helps."""

    who: str
    action: str
    topic: str
    expected: str
    observed: str
    why: str = ""

    @property
    def ok(self) -> bool:
        """Whether it is as it has to be."""
        return self.expected == self.observed

    def record(self) -> dict[str, object]:
        """As JSON has it."""
        return {
            "who": self.who,
            "action": self.action,
            "topic": self.topic,
            "expected": self.expected,
            "observed": self.observed,
            "ok": self.ok,
            "why": self.why,
        }

    def sentence(self) -> str:
        """For a person."""
        what = f"{self.who}: {self.action} {self.topic}".rstrip()
        return (
            f"{what}: is {self.observed}, and has to be {self.expected}{f' ({self.why})' if self.why else ''}"
        )


def word(allowed: bool) -> str:
    """`allowed` or `refused`."""
    return ALLOWED if allowed else REFUSED


def topics_of(network: str, nodes: Sequence[int]) -> list[str]:
    """Every topic of these nodes, and those of no node."""
    found = []
    for topic in TOPICS:
        name = f"dcka/{network}/{topic.suffix}".replace("<p>", _PHASE)
        found += [name.replace("<i>", str(node)) for node in nodes] if "<i>" in name else [name]
    return found


class TopicProof:
    """Who may publish and read what, among these users.

    `host` and `monitor` are their ways in, and `host.as_node` a node's. Raises NoAnswer where one is not let in.
    """

    def __init__(self, host: BrokerUrl, monitor: BrokerUrl, network: str, rights: Sequence[Rights]) -> None:
        self._network = network
        self._rights = rights
        self._mark = secrets.token_hex(6)
        ways = {HOST: host, "monitor": monitor}
        self._talkers = {
            one.user: Talker(ways[one.user] if one.node is None else host.as_node(one.node), one, network)
            for one in rights
        }
        self._topics = topics_of(network, [one.node for one in rights if one.node is not None])

    def rows(self) -> list[Row]:
        """Connect everybody, let each speak, and say what came of it."""
        with ExitStack() as stack:
            for talker in self._talkers.values():
                talker.open()
                stack.callback(talker.close)
            for talker in self._talkers.values():
                talker.listen(self._topics)
            for talker in self._talkers.values():
                self._speak(talker)
            wills = [row for one in self._rights if one.node is not None for row in self._wills(one)]
            return [*self._publish_rows(), *self._read_rows(), *wills]

    def _payload(self, user: str) -> bytes:
        return f"dcka-check {self._mark} {user}".encode()

    def _fence(self, user: str) -> str:
        """A topic that everybody reads, of one's own where there is one: what came before it on any topic has come."""
        node = self._talkers[user].rights.node
        return f"dcka/{self._network}/" + ("run" if node is None else f"commit/{node}")

    def _speak(self, talker: Talker) -> None:
        """Say something on every topic; the fence last. A broker may cut off who says what is not allowed."""
        user = talker.rights.user
        fence = self._fence(user)
        topics = [topic for topic in self._topics if topic != fence]
        for topic in topics:
            talker.say(topic, self._payload(user))
        if not talker.settle():
            for topic in topics:
                if not talker.up:
                    talker.open()
                talker.say(topic, self._payload(user))
                talker.settle()
            talker.open()
        talker.say(fence, self._payload(user))
        talker.settle()
        if talker.rights.may_publish(fence) and self._all_heard(fence, self._payload(user)):
            return
        # It has none that is passed on (a monitor, or a rule is wrong): the host says it, after the broker took the
        # rest.
        later = self._payload(f"after {user}")
        self._talkers[HOST].say(self._fence(HOST), later)
        self._all_heard(self._fence(HOST), later)

    def _all_heard(self, topic: str, payload: bytes) -> bool:
        readers = [one for one in self._talkers.values() if one.rights.may_read(topic)]
        return all(one.await_heard(topic, payload, FENCE_S) for one in readers)

    def _publish_rows(self) -> Iterable[Row]:
        """What somebody may be seen to have said: only where one of us may read the topic."""
        for user, speaker in self._talkers.items():
            for topic in self._topics:
                readers = [one for one in self._talkers.values() if one.rights.may_read(topic)]
                if readers:
                    came = any(
                        self._payload(user) in one.heard.get(topic, ()) for one in self._talkers.values()
                    )
                    yield Row(user, "publish", topic, word(speaker.rights.may_publish(topic)), word(came))

    def _read_rows(self) -> Iterable[Row]:
        """What somebody may hear: where one of us may speak."""
        for user, reader in self._talkers.items():
            for topic in self._topics:
                speakers = [one for one in self._talkers.values() if one.rights.may_publish(topic)]
                if speakers:
                    came = any(reader.heard.get(topic, ()))
                    yield Row(user, "read", topic, word(reader.rights.may_read(topic)), word(came))

    def _wills(self, rights: Rights) -> Iterable[Row]:
        """A node's will is its status, and can be nothing that others say."""
        talker = self._talkers[rights.user]
        host = self._talkers[HOST]
        status = f"dcka/{self._network}/status/{rights.node}"
        for topic in (status, f"dcka/{self._network}/run"):
            payload = self._payload(f"will-{rights.user}")
            talker.open(will=(topic, payload))
            talker.break_off()
            # Its next connection comes after the end of this one, and so does what it then says.
            talker.open()
            after = self._payload(
                f"after-will-{rights.user}-{topic.count('/')}-{rights.node}-{topic == status}"
            )
            talker.say(self._fence(rights.user), after)
            talker.settle()
            host.await_heard(self._fence(rights.user), after, FENCE_S)
            allowed = rights.may_publish(topic)
            came = host.await_heard(topic, payload, FENCE_S if allowed else 0.0)
            yield Row(rights.user, "will", topic, word(allowed), word(came))
