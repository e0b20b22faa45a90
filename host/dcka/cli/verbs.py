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
    "anomalies": Verb("dcka.cli.anomalies", "Find the readings that are far from every centre.", CLUSTERING),
    "stream": Verb("dcka.cli.stream", "Cluster what the nodes sense, again and again.", CLUSTERING),
    "check": Verb(
        "dcka.cli.check", "Compare the outcome of a run with the reference: PASS or FAIL.", CLUSTERING
    ),
    "sensors": Verb("dcka.cli.sensors", "What the nodes measure: how many readings, what fails.", NETWORK),
    "board": Verb("dcka.cli.board", "ESP32 boards: flash, provision, inject, logs.", NETWORK),
    "update": Verb("dcka.cli.update", "New firmware and settings for boards, over the air.", NETWORK),
    "monitor": Verb("dcka.cli.monitor", "Show who is online, what runs, and what happens.", NETWORK),
    "ha": Verb("dcka.cli.ha", "Show the nodes in Home Assistant.", NETWORK),
    "energy": Verb("dcka.cli.energy", "How long a battery lasts, modelled, by the pace.", NETWORK),
    "pace": Verb("dcka.cli.pace", "When clusterings begin, for nodes that sleep deeply.", NETWORK),
    "results": Verb("dcka.cli.results", "What was found: the runs in the history.", CLUSTERING),
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

UPDATE_VERBS: dict[str, Verb] = {
    "status": Verb("dcka.cli.update.status", "Which version each node runs, and what went back.", LATER),
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

HA_VERBS: dict[str, Verb] = {
    "enable": Verb("dcka.cli.ha.enable", "Make each node a device there.", NETWORK),
    "disable": Verb("dcka.cli.ha.disable", "Take them away again.", NETWORK),
    "show": Verb("dcka.cli.ha.show", "List what is announced.", NETWORK),
}

LOOK = "Look"
TAKE = "Take along, clear away"

RESULTS_VERBS: dict[str, Verb] = {
    "list": Verb("dcka.cli.results.list", "Show the runs that are stored.", LOOK),
    "show": Verb("dcka.cli.results.show", "Show one: every step, every gap, what came of it.", LOOK),
    "compare": Verb("dcka.cli.results.compare", "Set two beside each other.", LOOK),
    "plot": Verb("dcka.cli.results.plot", "Draw one.", LOOK),
    "export": Verb("dcka.cli.results.export", "Write them as CSV, JSON or Parquet.", TAKE),
    "serve": Verb("dcka.cli.results.serve", "Serve them over HTTP, to other programs.", TAKE),
    "remove": Verb("dcka.cli.results.remove", "Remove some, for ever.", TAKE),
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
    "anomalies": Verb(
        "dcka.cli.bench.anomalies",
        "What nodes find of labelled events, beside a central K-means.",
        CLUSTERING,
    ),
    "scale": Verb("dcka.cli.bench.scale", "Many nodes: time, beside the bare messages, and memory.", NETWORK),
    "faults": Verb("dcka.cli.bench.faults", "What goes wrong, and that no result is.", NETWORK),
    "monitor": Verb(
        "dcka.cli.bench.monitor", "What a monitor stands: messages into the history, long lists.", NETWORK
    ),
    "soak": Verb("dcka.cli.bench.soak", "Run after run with random faults; nothing leaks.", NETWORK),
    "week": Verb("dcka.cli.bench.week", "A week of nodes that sense, sleep and fail, in a minute.", NETWORK),
}
