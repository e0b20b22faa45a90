"""Messages that nobody should have said: random ones, those of an old run, a neighbour's that are not its own."""

import contextlib
from collections.abc import Iterator
from typing import Any

from dcka.bench.faults.fault import Fault, Scene, Settings
from dcka.bench.faults.honest import Dishonest
from dcka.bench.faults.messages_of import Outsider
from dcka.bench.faults.stages import locked, plain
from dcka.bench.fuzz import Fuzzer
from dcka.bench.live import Say
from dcka_core.codec import put_varint
from dcka_core.messages import UP, put_head

FUZZED_NODES = 10
BURST = 50
# For some seconds: after its restart the nodes come back to the broker one after the other.
SPOOFED_ROUNDS, SPOOFED_EVERY_S = 12, 0.25
SPOOFED_STEPS = 40
_REPLAYED = ("x", "commit", "epoch", "step", "result", "run", "rows")


@contextlib.contextmanager
def _heard(settings: Settings, say: Say) -> Iterator[Scene]:
    """A network whose first run somebody has listened to. `things`: outsider."""
    with plain(settings, say, min(settings.nodes, FUZZED_NODES)) as scene:
        scene.live.give()
        with Outsider(scene.things["broker"].address, scene.live.work.config.network.name) as outsider:
            scene.live.run(60.0)
            outsider.stop_listening()
            scene.things["outsider"] = outsider
            yield scene


def _fuzz(scene: Scene) -> None:
    settings, outsider = scene.settings, scene.things["outsider"]
    fuzzer = Fuzzer(settings.seed, list(scene.live.work.config.ids))
    for suffix, payload in outsider.heard:
        if payload:
            fuzzer.learn(suffix, payload)
    messages = Dishonest(fuzzer.messages(), settings.messages, scene.live.number)
    scene.things["messages"] = messages
    thread = outsider.say_all(messages)
    scene.notes.append(f"{settings.messages:,} messages, seed {settings.seed}")

    def look() -> None:
        if thread.is_alive():
            scene.later(0.5, look)
        else:
            scene.over()

    scene.later(0.0, look)


def _fuzzed(scene: Scene) -> None:
    dropped = _dropped(scene)
    scene.notes.append(f"{scene.things['messages'].forged:,} that could have been honest were left out")
    scene.require(
        sum(dropped.values()) > 0, f"nodes dropped {dropped}" if dropped else "no node dropped anything"
    )


def _replay(scene: Scene) -> None:
    """All that was said in the run before, twice, in its order."""
    outsider = scene.things["outsider"]
    old = [one for one in outsider.heard if one[0].partition("/")[0] in _REPLAYED and one[1]]
    scene.notes.append(f"{len(old):,} messages of the run before, twice")
    thread = outsider.say_all([*old, *old])

    def look() -> None:
        if thread.is_alive():
            scene.later(0.2, look)
        else:
            scene.over()

    scene.later(0.0, look)


def _spoof(scene: Scene) -> None:
    """Sums that are no neighbour's: under a neighbour's topic by who may not write there, and under a topic of one's
    own with a neighbour's name in the message."""
    broker, work = scene.things["broker"], scene.live.work
    rows = work.plan(scene.live.number).rows
    leaves = [node for node, row in rows.items() if not row["children"]]
    network = work.config.network.name
    # The stranger may write under its own topic alone; from the broker's restart on.
    own = f"user stranger\ntopic write dcka/{network}/x/0/{leaves[0]}\n"
    broker.start(_with_rules(broker, own))
    resources = contextlib.ExitStack()
    stranger = resources.enter_context(Outsider(broker.as_stranger(), network, listen=False))
    rounds = iter(range(SPOOFED_ROUNDS))

    def again() -> None:
        if next(rounds, None) is None:
            resources.close()
            scene.over()
            return
        for step in range(SPOOFED_STEPS):
            for leaf in leaves[1:]:
                stranger.say(f"x/0/{leaf}", _sums(scene, leaf, rows[leaf]["parent"], step))
            # Sent by the topic's owner, as another.
            stranger.say(f"x/0/{leaves[0]}", _sums(scene, leaves[-1], rows[leaves[0]]["parent"], step))
        scene.later(SPOOFED_EVERY_S, again)

    again()


def _spoofed(scene: Scene) -> None:
    dropped = _dropped(scene)
    scene.require(dropped.get("sender", 0) > 0, f"nodes dropped {dropped}")


def _with_rules(broker: Any, more: str) -> Any:
    from dataclasses import replace

    return replace(broker.good, rules=broker.good.rules + "\n" + more)


def _sums(scene: Scene, sender: int, parent: int, step: int) -> bytes:
    """A message of type 1, in full, that is right in all but what it says: one point of the grid's corner."""
    plan = scene.live.work.plan(scene.live.number)
    members, k = plan.record["members"], plan.record["k"]
    out = put_head(UP, plan.number, sender, 1, step)
    out.append(2)
    for value in (parent, 1, members.index(sender), 1):
        put_varint(out, value)
    out.extend(bytes(4))
    for value in (1, 32767, 32767, *[0] * (k - 1), 2 * 32767**2):
        put_varint(out, value)
    return bytes(out)


def _dropped(scene: Scene) -> dict[str, int]:
    """By reason, what the nodes say that they have dropped."""
    from dcka.mqtt.inbox import Inbox

    inbox = Inbox(scene.live.connection, {})
    scene.live.connection.subscribe("status/+")
    inbox.until(lambda: False, 2.0, "status/+")
    found: dict[str, int] = {}
    for status in inbox.statuses.by_node.values():
        for reason, count in status.dropped.items():
            found[reason] = found.get(reason, 0) + count
    return found


FAULTS = (
    Fault(
        "fuzz",
        "all are dropped and counted, nobody falls, and the run ends whole",
        _heard,
        _fuzz,
        after=_fuzzed,
        run_s=lambda settings: 120 + settings.messages / 200,
    ),
    Fault("replayed_messages", "messages of an old run change nothing: the run ends whole", _heard, _replay),
    Fault(
        "spoofed_neighbour",
        "the broker refuses what is said under another's topic, a node what has another's name; the run ends whole",
        locked,
        _spoof,
        after=_spoofed,
    ),
)
