"""How often the nodes of `tree` speak: on random geometric graphs, without loss and with 20 % on every hop."""

from collections import Counter

import pytest
from scenes import Scene, cloud
from tree_laws import check_laws

from dcka.topology import Shape, named, schedule

STEPS = 6


def geometric(nodes: int, seed: int) -> tuple[Scene, dict[int, list[int]]]:
    """A network at random places, no denser than it has to be to hang together, and the children of each node."""
    ids = list(range(1, nodes + 1))
    plan = schedule(named(ids, Shape("random", seed=seed)), "tree")
    parents = {node: plan.rows[node]["parent"] for node in plan.members}
    near = {node: list(plan.rows[node]["near"]) for node in ids}
    scene = Scene({node: cloud(node, 4) for node in ids}, parents, near=near, max_steps=STEPS, k=5)
    scene.bus.trace = []
    return scene, {node: list(plan.rows[node]["children"]) for node in ids}


def broadcasts(scene: Scene) -> Counter[str]:
    """By kind, in a whole run."""
    said: Counter[str] = Counter()
    scene.bus.watch = lambda topic, payload: said.update([topic.split("/")[2]])
    scene.finish(limit=400_000)
    scene.final()
    check_laws(scene)
    return Counter({kind: said[kind] for kind in ("x", "commit", "epoch")})


@pytest.mark.parametrize("nodes, seed", [(10, 1), (20, 1), (20, 2), (100, 1)])
def test_without_loss_each_node_speaks_once_and_inner_ones_twice(nodes: int, seed: int) -> None:
    scene, children = geometric(nodes, seed)
    said = broadcasts(scene)
    steps = scene.held(1).step
    inner = sum(1 for below in children.values() if below)
    # The last commit is said by everybody.
    assert said == {"x": (nodes - 1) * steps, "commit": inner * steps + nodes - inner, "epoch": 0}
    assert said.total() <= 2 * nodes * steps


@pytest.mark.parametrize(
    "nodes, seeds, most", [(20, (1, 2, 3, 4, 5), 6), pytest.param(100, (2,), 10, marks=pytest.mark.slow)]
)
def test_loss_on_every_hop_costs_a_few_times_that(nodes: int, seeds: tuple[int, ...], most: int) -> None:
    for seed in seeds:
        calm = broadcasts(geometric(nodes, seed)[0])
        scene, _ = geometric(nodes, seed)
        scene.bus.faults(seed, loss=20, everything=True)
        lossy = broadcasts(scene)
        assert lossy.total() <= most * calm.total(), (seed, lossy, calm)
        assert scene.held(1).missing == 0, seed
