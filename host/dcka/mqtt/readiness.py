"""Before a run: are the nodes there, each once, and with the data that is meant?"""

from collections.abc import Callable, Collection, Iterable

from dcka.errors import DckaError
from dcka.mqtt.inbox import Inbox
from dcka.mqtt.statuses import NodeStatus, Statuses

# Emulated nodes are there within 0.3 s; a board that has just been switched on joins its Wi-Fi in a few seconds.
READY_S = 6.0
TELL_S = 2.0
# NATS may give a subscriber the status before the last one; asked again, it has the last one.
SETTLE_S = 2.0
TWINS = "two devices or processes use the same id; give one of them another, or stop one"
_SHOWN = 8


class NotReady(DckaError):
    """The nodes are not as a run needs them; nothing was started. `nodes`: whom it is about."""

    def __init__(self, message: str, nodes: Collection[int] = ()) -> None:
        super().__init__(message)
        self.nodes = tuple(sorted(nodes))


def named(nodes: Iterable[int]) -> str:
    """ "node 3", "nodes 2 and 3", "nodes 1, 2, 3 and 9 more"."""
    ids = sorted(nodes)
    if len(ids) == 1:
        return f"node {ids[0]}"
    if len(ids) > _SHOWN:
        return f"nodes {', '.join(map(str, ids[:_SHOWN]))} and {len(ids) - _SHOWN} more"
    return f"nodes {', '.join(map(str, ids[:-1]))} and {ids[-1]}"


def await_online(
    inbox: Inbox,
    nodes: Collection[int],
    limit_s: float = READY_S,
    tell: Callable[[Collection[int]], None] = lambda missing: None,
) -> None:
    """Return once all `nodes` are online. `status/+` has to be subscribed.

    `tell` is called with who is missing, once that has lasted for TELL_S, and then every TELL_S where it has changed;
    with nobody once all are there. Raises NotReady: who has not come within `limit_s`, and who is there twice.
    """
    clock = inbox.connection.now
    told_at, told = clock(), frozenset[int]()

    def look() -> None:
        nonlocal told_at, told
        missing = frozenset(node for node in nodes if not inbox.statuses.online(node))
        if missing != told and clock() - told_at >= TELL_S:
            told_at, told = clock(), missing
            tell(missing)

    def decided() -> bool:
        statuses = inbox.statuses
        return bool(statuses.twins & set(nodes)) or all(statuses.online(node) for node in nodes)

    inbox.until(decided, limit_s, "status/+", ask=look)
    require_single(inbox.statuses, nodes)
    absent = [node for node in nodes if not inbox.statuses.online(node)]
    if told and not absent:
        tell(())
    if absent:
        network, url = inbox.connection.network, inbox.connection.url
        known = [node for node in absent if inbox.statuses.get(node)]
        been = f" ({named(known)} had been)" if known and len(known) < len(absent) else ""
        verb = "is" if len(absent) == 1 else "are"
        raise NotReady(
            f"{named(absent)} of network {network} {verb} not online at {url}{been}, waited {limit_s:g} s: "
            f"start with dcka emulate, or look at power, Wi-Fi and broker address",
            absent,
        )


def await_settled(inbox: Inbox, nodes: Collection[int], settled: Callable[[NodeStatus], bool]) -> None:
    """Return once the statuses of all `nodes`, which are online, are `settled` or tell of a problem; or after SETTLE_S.

    A status may be from before what was just done to the node: a broker may hand on its newest one late.
    """

    def decided() -> bool:
        known = [inbox.statuses.get(node) for node in nodes]
        return all(status is not None and (status.problem or settled(status)) for status in known)

    inbox.until(decided, SETTLE_S, "status/+")


def require_single(statuses: Statuses, nodes: Collection[int]) -> None:
    """Raises NotReady where one of `nodes` has turned out to be two."""
    twins = statuses.twins & set(nodes)
    if twins:
        raise NotReady(f"{named(twins)}: {TWINS}", twins)


def require_readings(statuses: Statuses, nodes: Collection[int], readings: str) -> None:
    """Raises NotReady where one of `nodes`, all online, holds other readings than `readings` (16 hex digits)."""
    held = {node: status.readings for node in nodes if (status := statuses.get(node)) is not None}
    without_readings([node for node, own in held.items() if not own])
    others = [node for node, own in held.items() if own != readings]
    if others:
        verb = "holds" if len(others) == 1 else "hold"
        raise NotReady(
            f"{named(others)} {verb} other readings ({held[others[0]]}) than the run's ({readings}): "
            "give all nodes the same with dcka inject",
            others,
        )


def without_readings(nodes: Collection[int]) -> None:
    """Raises NotReady where there are any: nodes without readings can't agree on a range."""
    if nodes:
        verb = "has" if len(nodes) == 1 else "have"
        raise NotReady(
            f"{named(nodes)} {verb} no readings to agree on a range by: give the nodes theirs with dcka inject "
            "--readings; firmware from before there were surveys keeps none, and has to be provisioned anew",
            nodes,
        )


def require_dataset(statuses: Statuses, nodes: Collection[int], dataset: str) -> None:
    """Raises NotReady where one of `nodes`, all online, holds other data than `dataset` (16 hex digits)."""
    others = {node: status.dataset for node in nodes if (status := statuses.get(node)) is not None}
    empty = [node for node, held in others.items() if not held]
    wrong = [node for node, held in others.items() if held and held != dataset]
    if empty:
        verb = "has" if len(empty) == 1 else "have"
        raise NotReady(
            f"{named(empty)} {verb} no data: give the nodes their readings with dcka inject", empty
        )
    if wrong:
        verb = "holds" if len(wrong) == 1 else "hold"
        raise NotReady(
            f"{named(wrong)} {verb} another dataset ({others[wrong[0]]}) than the run's ({dataset}): "
            f"give all nodes the same with dcka inject",
            wrong,
        )
