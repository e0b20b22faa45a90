"""The table of verbs. A verb is a module of this package with a click command named `command`.

Only the module of the verb that is called is imported, so that `dcka --help` stays fast however heavy the
others are: what the help says of a verb stands here.
"""

from typing import NamedTuple

START = "Start"
NETWORK = "Network"
CLUSTERING = "Clustering"


class Verb(NamedTuple):
    """`module`: where the command is. `summary`: its line in `dcka --help`. `group`: its heading there."""

    module: str
    summary: str
    group: str


VERBS: dict[str, Verb] = {
    "demo": Verb("dcka.cli.demo", "Show it all: a network on this computer, two runs, a verdict.", START),
    "init": Verb("dcka.cli.init", "Write a commented network.toml.", START),
    "broker": Verb("dcka.cli.broker", "Run an MQTT broker: open here, or locked for a network.", NETWORK),
    "schedule": Verb("dcka.cli.schedule", "Design a duty-cycling schedule, and show what it costs.", NETWORK),
    "emulate": Verb("dcka.cli.emulate", "Start the nodes on this computer.", NETWORK),
    "inject": Verb("dcka.cli.inject", "Give the nodes their readings.", CLUSTERING),
    "run": Verb("dcka.cli.run", "Cluster the readings that the nodes hold.", CLUSTERING),
    "check": Verb(
        "dcka.cli.check", "Compare the outcome of a run with the reference: PASS or FAIL.", CLUSTERING
    ),
    "sensors": Verb("dcka.cli.sensors", "What the nodes measure: how many readings, what fails.", NETWORK),
    "board": Verb("dcka.cli.board", "ESP32 boards: flash, provision, inject, logs.", NETWORK),
    "monitor": Verb("dcka.cli.monitor", "Show who is online, what runs, and what happens.", NETWORK),
    "energy": Verb("dcka.cli.energy", "How long a battery lasts, modelled, by the pace.", NETWORK),
    "pace": Verb("dcka.cli.pace", "When clusterings begin, for nodes that sleep deeply.", NETWORK),
    "bench": Verb(
        "dcka.cli.bench", "Measure what is claimed: airtime, kernels, memory, the engine.", CLUSTERING
    ),
    "reproduce": Verb("dcka.cli.reproduce", "The paper's experiments, with a report.", CLUSTERING),
    "simulate": Verb("dcka.cli.simulate", "Thousands of nodes in one process.", CLUSTERING),
}

FIRST = "From the box to the network"
LATER = "Afterwards"

BOARD_VERBS: dict[str, Verb] = {
    "list": Verb("dcka.cli.board.list", "Show the boards that are plugged in.", FIRST),
    "flash": Verb("dcka.cli.board.flash", "Write MicroPython onto boards.", FIRST),
    "provision": Verb(
        "dcka.cli.board.provision", "Make boards nodes of the network, and wait for them to join.", FIRST
    ),
    "image": Verb("dcka.cli.board.image", "Write MicroPython, firmware and data in one go.", FIRST),
    "inject": Verb("dcka.cli.board.inject", "Give boards their readings over the cable.", LATER),
    "readings": Verb("dcka.cli.board.readings", "What a board's sensors have measured.", LATER),
    "logs": Verb("dcka.cli.board.logs", "Follow what boards print.", LATER),
    "doctor": Verb("dcka.cli.board.doctor", "Find out why a board does not answer.", LATER),
    "bench": Verb("dcka.cli.board.bench", "Measure how fast a board computes.", LATER),
    "selftest": Verb("dcka.cli.board.selftest", "Try the whole path on emulated boards.", LATER),
}

LOCKED = "A broker with locks"
CREDENTIALS = "Its credentials, and what is kept"

BROKER_VERBS: dict[str, Verb] = {
    "init": Verb("dcka.cli.broker.init", "Write its configuration, certificates and passwords.", LOCKED),
    "up": Verb("dcka.cli.broker.up", "Start it, until Ctrl-C.", LOCKED),
    "check": Verb("dcka.cli.broker.check", "Prove what it allows and what it refuses.", LOCKED),
    "renew": Verb("dcka.cli.broker.renew", "A new certificate of the same authority.", CREDENTIALS),
    "rotate": Verb("dcka.cli.broker.rotate", "A new password for a node, or for a role.", CREDENTIALS),
    "remove": Verb("dcka.cli.broker.remove", "Shut out a node that is lost.", CREDENTIALS),
    "backup": Verb("dcka.cli.broker.backup", "Put the network's state into a file.", CREDENTIALS),
    "restore": Verb("dcka.cli.broker.restore", "Bring it back.", CREDENTIALS),
}

REPRODUCE_VERBS: dict[str, Verb] = {
    "exp1": Verb("dcka.cli.reproduce.exp1", "Nine Gaussians on five nodes.", CLUSTERING),
    "exp2": Verb("dcka.cli.reproduce.exp2", "The Birch sets on twenty nodes.", CLUSTERING),
}

BENCH_VERBS: dict[str, Verb] = {
    "airtime": Verb(
        "dcka.cli.bench.airtime", "What a clustering costs on the air, method beside method.", CLUSTERING
    ),
    "kernel": Verb("dcka.cli.bench.kernel", "How fast a K-means step is on MicroPython.", CLUSTERING),
    "memory": Verb(
        "dcka.cli.bench.memory", "What heap a node needs: by part, and the smallest that passes.", CLUSTERING
    ),
    "store": Verb("dcka.cli.bench.store", "What keeping readings costs the flash, in years.", NETWORK),
    "engine": Verb(
        "dcka.cli.bench.engine", "How fast the host's K-means is, beside scikit-learn's.", CLUSTERING
    ),
    "scale": Verb("dcka.cli.bench.scale", "Many nodes: time, beside the bare messages, and memory.", NETWORK),
    "faults": Verb("dcka.cli.bench.faults", "What goes wrong, and that no result is.", NETWORK),
    "soak": Verb("dcka.cli.bench.soak", "Run after run with random faults; nothing leaks.", NETWORK),
}
