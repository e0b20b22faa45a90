"""A thousand nodes at a cluster of three NATS servers, one of which is killed in mid-run."""

from typing import Any

from dcka.bench.live import Say, emulated, figures_of
from dcka.bench.scale.cases import Case
from dcka.bench.scale.emulated import LIMIT_S, data_kb, empty_kb, pid_of, work
from dcka.bench.scale.footprint import resident_kb
from dcka.broker.cluster import LocalCluster

SERVERS = 3
KILL_AFTER = 3
"""Outer steps, of 14."""
PATIENCE_MS = 20_000
"""What the dead server had taken and not passed on is lost, and said again after so long."""


def measure_cluster(case: Case, nodes: int, say: Say) -> dict[str, Any]:
    """One run. The host is at a server that stays; a third of the nodes loses its own."""
    task = work(nodes)
    killed: list[int] = []
    with LocalCluster(SERVERS, clients=2 * nodes + 100) as cluster:
        url = cluster.url
        with emulated(task, url, url.addresses[0]) as live:
            live.give()
            say(f"{case.name}: {nodes} nodes have their readings")

            def look(event: str, data: dict[str, Any]) -> None:
                if event == "step" and data["step"] + 1 >= KILL_AFTER and not killed:
                    say(
                        f"{case.name}: server {cluster.servers[-1].name} is killed after step {data['step'] + 1}"
                    )
                    cluster.servers[-1].kill()
                    killed.append(data["step"] + 1)

            ran = live.run(LIMIT_S, look, ready_s=60, patience_ms=PATIENCE_MS)
            kb = resident_kb(pid_of(live))
    figures, wall = figures_of(ran), ran.outcome.wall_s
    slots = 2 * ran.outcome.record["depth"] * figures["steps"]
    return {
        **figures,
        "engine": case.engine,
        "servers": SERVERS,
        "killed_after_step": killed[0] if killed else None,
        "wall_s": wall,
        "slots_per_s": slots / wall if wall else 0.0,
        "ratio_vs_raw": None,
        "host_kb_per_node": (kb - empty_kb("embedded") - data_kb(task)) / nodes,
    }
