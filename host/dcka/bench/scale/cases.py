"""The cases: how many nodes, of which runtime, at which broker."""

from dataclasses import dataclass

REPEATS = 3
"""Runs, and raw exchanges in turns with them, of which the medians are taken."""


@dataclass(frozen=True)
class Case:
    """`measure`: which way it is measured. `engine`: of the broker. `sizes`: of `memory`, which has several."""

    name: str
    measure: str
    nodes: int
    engine: str = "mosquitto"
    sizes: tuple[int, ...] = ()


CASES = {
    case.name: case
    for case in (
        Case("mosquitto-200", "emulated", 200),
        Case("mosquitto-1000", "emulated", 1000),
        Case("embedded-200", "emulated", 200, "embedded"),
        Case("embedded-1000", "emulated", 1000, "embedded"),
        Case("birch-tls-20", "birch", 20),
        Case("cluster-1000", "cluster", 1000, "nats cluster"),
        Case("memory", "memory", 1000, sizes=(200, 500, 1000)),
    )
}
