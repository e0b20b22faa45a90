"""The state of a network as metrics for Prometheus: a pure function of the state and the time.

Labels have few values: ids of the network file, and words out of tables here. What anybody can put into a payload
never becomes a label, or a stranger could fill the memory of whoever collects. docs/deploy.md lists the metrics.
"""

import platform
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily
from prometheus_client.metrics_core import Metric

from dcka import __version__
from dcka.monitor.progress import WITHOUT_SSD
from dcka.monitor.state import KINDS, NetworkState, NodeView
from dcka.monitor.tally import OTHER, OUTCOMES
from dcka.mqtt.statuses import ASLEEP, OFFLINE
from dcka.runs.ledgers import PLACES

ONLINE, SILENT, UNSEEN = "online", "silent", "unseen"
NODE_STATES = (ONLINE, ASLEEP, SILENT, OFFLINE, UNSEEN)
RUN_KINDS = ("tree", "gossip", "survey", "seeding")
QUARANTINED = ("conflict", "flood", "malformed", "points", "root", "set")
"""Why a node holds a neighbour in quarantine."""


class _Ledger(NamedTuple):
    name: str
    words: str
    unit: float = 1


_LEDGER = {
    "slots_awake": _Ledger("dcka_node_slots_awake", "Slots in which the node was awake"),
    "associations": _Ledger(
        "dcka_node_associations",
        "Associations with the access point; without Wi-Fi, connections to the broker",
    ),
    "broadcasts": _Ledger("dcka_node_broadcasts", "Messages to its neighbours that the node sent"),
    "payload_sent": _Ledger("dcka_node_sent_bytes", "Payload of the messages to its neighbours that it sent"),
    "deliveries": _Ledger("dcka_node_heard", "Messages of other nodes that came to the node"),
    "payload_heard": _Ledger("dcka_node_heard_bytes", "Payload of the messages of other nodes that came"),
    "computing_ms": _Ledger("dcka_node_computing_seconds", "Time in which its core worked", 1000),
}


def families(state: NetworkState, now: float) -> Iterator[Metric]:
    """All metrics of the state at `now`, in monotonic seconds."""
    yield InfoMetricFamily(
        "dcka_build", "The monitor's program", {"version": __version__, "python": platform.python_version()}
    )
    yield InfoMetricFamily("dcka_network", "Which network this is", {"network": state.network})
    yield _gauge("dcka_broker_up", "Whether the monitor is connected to the broker", state.broker)
    yield from _listening(state)
    yield from _nodes(state, now)
    yield from _node_gauges(state, now)
    yield from _node_counters(state)
    yield from _run(state)
    yield from _runs(state)


def node_state(view: NodeView | None, now: float) -> str:
    """One of NODE_STATES."""
    if view is None:
        return UNSEEN
    said = view.state(now)
    return said if said in NODE_STATES else ONLINE


def _listening(state: NetworkState) -> Iterator[Metric]:
    tally = state.tally
    yield _counter(
        "dcka_monitor_reconnects", "Outages of the broker that the monitor has been through", tally.reconnects
    )
    for name, words, counts in (
        ("dcka_monitor_messages", "Messages that the monitor took in, by the kind of topic", tally.messages),
        ("dcka_monitor_rejected", "Messages that were no use to it, by the kind of topic", tally.rejected),
    ):
        family = CounterMetricFamily(name, words, labels=["kind"])
        for kind in (*KINDS, OTHER):
            family.add_metric([kind], counts[kind])
        yield family


def _nodes(state: NetworkState, now: float) -> Iterator[Metric]:
    states = [node_state(state.nodes.get(node), now) for node in state.members]
    family = GaugeMetricFamily("dcka_nodes", "Nodes of the network file, by state", labels=["state"])
    for name in NODE_STATES:
        family.add_metric([name], states.count(name))
    yield family
    strangers = len(set(state.nodes) - set(state.members))
    yield _gauge("dcka_nodes_strangers", "Nodes with a status that are not in the network file", strangers)
    yield _quarantine(state, now)


def _quarantine(state: NetworkState, now: float) -> Metric:
    family = GaugeMetricFamily(
        "dcka_node_quarantined",
        "How many nodes hold this one in quarantine, by reason",
        labels=["node", "reason"],
    )
    held: dict[tuple[int, str], int] = {}
    for _, view in _present(state, now):
        for node, why in view.status.quarantined.items():
            if node in state.members:
                place = (node, why if why in QUARANTINED else OTHER)
                held[place] = held.get(place, 0) + 1
    for (node, reason), count in sorted(held.items()):
        family.add_metric([str(node), reason], count)
    return family


def _node_gauges(state: NetworkState, now: float) -> Iterator[Metric]:
    up = {node: node_state(state.nodes.get(node), now) in (ONLINE, ASLEEP) for node in state.members}
    yield _by_node("dcka_node_up", "Whether the node is there, awake or asleep", up.items())
    seen = [(node, state.nodes[node]) for node in state.members if node in state.nodes]
    yield _by_node(
        "dcka_node_last_seen_age_seconds",
        "Since the node last spoke; none where only what the broker had kept is known",
        [(node, view.age(now)) for node, view in seen if view.live_at is not None],
    )
    # Of a node that is gone nobody knows the rest any more.
    there = list(_present(state, now))
    for name, words, value in _NODE_GAUGES:
        found = [(node, value(view)) for node, view in there]
        yield _by_node(name, words, [(node, number) for node, number in found if number is not None])


_NODE_GAUGES: tuple[tuple[str, str, Callable[[NodeView], float | None]], ...] = (
    ("dcka_node_boot", "Its boot count", lambda view: view.figures.boot),
    ("dcka_node_points", "Its readings on the grid", lambda view: view.figures.rows),
    ("dcka_node_heap_live_bytes", "Memory in use", lambda view: view.figures.heap or None),
    (
        "dcka_node_heap_free_bytes",
        "Memory left",
        lambda view: view.figures.free or None,
    ),
    (
        "dcka_node_problem",
        "Whether it says that something keeps it out",
        lambda view: bool(view.status.problem),
    ),
    ("dcka_node_stalled", "Whether it is a root with too few to go on", lambda view: view.status.stalled),
    ("dcka_node_twin", "Whether another node speaks under its id", lambda view: view.status.twin),
)


def _node_counters(state: NetworkState) -> Iterator[Metric]:
    counted = [(str(node), state.nodes[node].counters) for node in state.members if node in state.nodes]
    for place, key in enumerate(PLACES):
        entry = _LEDGER[key]
        family = CounterMetricFamily(entry.name, f"{entry.words}, since its boot", labels=["node"])
        for node, counters in counted:
            if counters.ledger is not None:
                family.add_metric([node], counters.ledger[place] / entry.unit)
        yield family
    dropped = CounterMetricFamily(
        "dcka_node_dropped",
        "Messages that the node dropped, by reason, since its boot",
        labels=["node", "reason"],
    )
    for node, counters in counted:
        for reason, count in sorted(counters.dropped.items()):
            dropped.add_metric([node, reason], count)
    yield dropped


def _run(state: NetworkState) -> Iterator[Metric]:
    run = state.run
    yield _gauge("dcka_run_number", "Of the run that is on, or was last; 0 where none is known", run.number)
    yield _gauge("dcka_run_members", "Nodes that take part in it", len(run.members))
    yield _gauge("dcka_run_points", "Readings that it clusters", run.points)
    yield _gauge("dcka_run_clusters", "Its K", run.k)
    yield _gauge("dcka_run_step", "The furthest outer step that a node has committed", run.step)
    yield _gauge("dcka_run_results", "Members that have given their result", len(run.done))
    yield _gauge("dcka_run_missing", "Members that were not in every step", len(run.missing))
    running = sum(
        view.figures.run == run.number and view.status.state in ("running", ASLEEP)
        for view in state.nodes.values()
    )
    yield _gauge("dcka_run_nodes_running", "Nodes that say they are at it", running)
    ssd = GaugeMetricFamily(
        "dcka_run_ssd",
        "Sum of squared distances of its newest step, in the square of the readings' unit, of grid steps or of widths",
        labels=["unit"],
    )
    if run.ssd and run.kind not in WITHOUT_SSD:
        unit = "grid" if not run.in_units else "user" if run.scale == "one" else "width"
        ssd.add_metric([unit], run.ssd[max(run.ssd)])
    yield ssd


def _runs(state: NetworkState) -> Iterator[Metric]:
    begun = CounterMetricFamily(
        "dcka_runs_begun", "Runs that began since the monitor was started", labels=["kind"]
    )
    ended = CounterMetricFamily(
        "dcka_runs_ended", "Runs of these that have ended, by outcome", labels=["kind", "outcome"]
    )
    for kind in RUN_KINDS:
        begun.add_metric([kind], state.tally.begun[kind])
        for outcome in OUTCOMES:
            ended.add_metric([kind, outcome], state.tally.ended[kind, outcome])
    yield begun
    yield ended


def _present(state: NetworkState, now: float) -> Iterator[tuple[int, NodeView]]:
    for node in state.members:
        view = state.nodes.get(node)
        if view is not None and node_state(view, now) in (ONLINE, ASLEEP):
            yield node, view


def _gauge(name: str, words: str, value: float) -> Metric:
    return GaugeMetricFamily(name, words, value=value)


def _counter(name: str, words: str, value: float) -> Metric:
    return CounterMetricFamily(name, words, value=value)


def _by_node(name: str, words: str, values: Iterable[tuple[int, float]]) -> Metric:
    family = GaugeMetricFamily(name, words, labels=["node"])
    for node, value in values:
        family.add_metric([str(node)], value)
    return family
