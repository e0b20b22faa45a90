"""The broker's locks are changed in mid-run: another certificate, other passwords, a rule that denies."""

from dataclasses import replace

from dcka.bench.faults.fault import OUTAGE, Fault, Scene
from dcka.bench.faults.stages import locked
from dcka.bench.locks import USER, Issuer, LockedBroker, Locks
from dcka.broker import BrokerUnavailable, probe

WRONG_S = 6.0
PROBE_S = 5.0


def _wrong(scene: Scene, locks: Locks) -> None:
    """The broker starts anew with these locks, nobody is let in, and after a while it is put right again."""
    broker: LockedBroker = scene.things["broker"]
    broker.start(locks)

    def ask() -> None:
        try:
            probe(broker.nodes, PROBE_S)
        except BrokerUnavailable as error:
            scene.notes.append(f"said of it: {error}")
        else:
            scene.require(False, "the broker let us in")

    def put_right() -> None:
        broker.start()
        scene.over()

    scene.later(1.0, ask)
    scene.later(WRONG_S, put_right)


def _expired(scene: Scene) -> None:
    broker: LockedBroker = scene.things["broker"]
    _wrong(scene, replace(broker.good, pair=broker.issuer.server("expired", expired_days=1)))


def _foreign(scene: Scene) -> None:
    broker: LockedBroker = scene.things["broker"]
    foreign = Issuer(broker.nodes.ca.parent if broker.nodes.ca else broker.issuer.ca.parent, "foreign")
    _wrong(scene, replace(broker.good, pair=foreign.server("foreign")))


def _password(scene: Scene) -> None:
    broker: LockedBroker = scene.things["broker"]
    _wrong(scene, replace(broker.good, passwords={**broker.good.passwords, USER: "another"}))


def _denied(scene: Scene) -> None:
    """From now on the broker drops the sums of one node, and tells it nothing: the leaf of the greatest id."""
    broker: LockedBroker = scene.things["broker"]
    net = scene.live.work.config.network.name
    rows = scene.live.work.plan(1).rows
    leaf = max(node for node, row in rows.items() if not row["children"])
    denied = f"user {USER}\ntopic deny dcka/{net}/x/0/{leaf}\ntopic readwrite #\n"
    scene.notes.append(f"what node {leaf} says to its parent is denied")
    broker.start(replace(broker.good, rules=denied))


def _allow(scene: Scene) -> None:
    broker: LockedBroker = scene.things["broker"]
    broker.start()
    scene.over()


FAULTS = (
    Fault(
        "certificate_expired",
        "nodes and host refuse it, before a byte of MQTT; with a good one the run ends; who comes late is named",
        locked,
        _expired,
        OUTAGE,
    ),
    Fault(
        "wrong_ca",
        "nodes and host refuse a foreign authority; with a good one the run ends; who comes late is named",
        locked,
        _foreign,
        OUTAGE,
    ),
    Fault(
        "wrong_password",
        "the broker refuses all; with the right password the run ends; who comes late is named",
        locked,
        _password,
        OUTAGE,
    ),
    Fault(
        "acl_denied",
        "the run ends without the node that the broker does not let speak, and names it",
        locked,
        _denied,
        ("PARTIAL",),
        ended=_allow,
    ),
)
