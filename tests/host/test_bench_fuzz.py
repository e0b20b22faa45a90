"""Whatever comes on whatever topic: no node crashes, what was dropped is counted, and the next run is exact."""

import pytest
from scenes import FORK, SQUARE, Scene, cloud

from dcka.bench.fuzz import Fuzzer

# What nodes listen to. The host's own word (run, rows) is trusted: who forges it can do anything.
TOPICS = ("put", "x/0", "x/1", "commit", "epoch", "status", "step", "result", "got")


def scene_of(kind: str) -> Scene:
    if kind == "tree":
        return Scene({node: cloud(node, 8 + node) for node in FORK}, FORK, k=2)
    return Scene({node: cloud(node, 8) for node in (1, 2, 3, 4)}, SQUARE, k=2, max_steps=3, max_slots=20)


def test_the_same_seed_makes_the_same_messages() -> None:
    made = []
    for seed in (1, 1, 2):
        fuzzer = Fuzzer(seed, [1, 2])
        fuzzer.learn("x/0/1", b"\x11\x01\x01\x01\x00abc")
        fuzzer.learn("run", b'{"v":1,"run":1}')
        made.append(list(fuzzer.messages(300)))
    assert made[0] == made[1] != made[2]
    assert {suffix.rpartition("/")[0] or suffix for suffix, _ in made[0]} >= {"x/0", "run", "commit", "epoch"}
    assert any(payload not in (b"", made[0][0][1]) for _, payload in made[0])


@pytest.mark.parametrize("kind", ["tree", "gossip"])
@pytest.mark.parametrize("seed", [1, 2])
def test_nodes_survive_and_the_next_run_is_exact(kind: str, seed: int) -> None:
    scene = scene_of(kind)
    bus = scene.bus
    fuzzer = Fuzzer(seed, list(scene.data), TOPICS)
    bus.watch = lambda topic, payload: fuzzer.learn(topic.removeprefix("dcka/t/"), payload)
    scene.start()
    bus.run(lambda: all(scene.session(node) for node in scene.data))
    for place, (suffix, payload) in enumerate(fuzzer.messages(3000)):
        for node in list(scene.data):
            if bus.hears(node, f"dcka/t/{suffix}"):
                bus.perform(node, bus.nodes[node].receive(f"dcka/t/{suffix}", payload, bus.time(node)))
        if place % 50 == 0:
            bus.run_for(20, 200)
    assert sum(sum(scene.dropped(node).values()) for node in scene.data) > 100
    bus.watch = None
    bus.retained = {topic: payload for topic, payload in bus.retained.items() if "/commit/" not in topic}
    bus.queue.clear()
    expected = scene_of(kind)
    scene.finish(5)
    expected.finish(5)
    outcomes = [{node: (one.held(node).centres, one.held(node).counts, one.held(node).ssd) for node in scene.data}
                for one in (scene, expected)]  # fmt: skip
    assert outcomes[0] == outcomes[1]
    assert all(scene.session(node).struck == {} for node in scene.data)
