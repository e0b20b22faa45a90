"""`dcka init`: a commented network file to start from."""

import shlex
from pathlib import Path

import click

from dcka.cli.options import examples, json_option, network_option
from dcka.cli.output import Output
from dcka.cli.verbs import VERBS
from dcka.errors import UsageError

# The option that each value comes from, for the errors of the configuration.
_FLAGS: dict[tuple[str, ...], str] = {
    ("network", "nodes"): "--nodes",
    ("network", "name"): "--name",
    ("run", "k"): "--k",
    ("topology", "kind"): "--topology",
}

_NEXT = (
    ("broker", "", "start the broker; leave it running"),
    ("emulate", "", "start the nodes on this computer; leave them running"),
    ("inject", " readings.csv", "give the nodes their readings"),
    ("run", "", "cluster"),
    ("check", "", "compare the outcome with the reference"),
)


@click.command(
    "init",
    epilog=examples(
        "dcka init                       five nodes, the topology of the paper's first experiment",
        "dcka init --nodes 12 --k 4      twelve nodes on a grid",
        "dcka init --nodes 20 --topology random --name greenhouse",
    ),
)
@click.option("--nodes", type=int, metavar="N", help="How many nodes.  [default: 5]")
@click.option("--name", metavar="NAME", help="The network's name, part of every topic.  [default: sensors]")
@click.option("--k", type=int, metavar="K", help="How many clusters.  [default: 9]")
@click.option(
    "--topology",
    metavar="NAME",
    help="Who hears whom: experiment1, experiment2, ring, line, grid, star, complete or random.  "
    "[default: experiment1 for 5 nodes, experiment2 for 20, else grid]",
)
@click.option("--secure", is_flag=True, help="And a broker with locks for it, as dcka broker init does.")
@click.option("--force", is_flag=True, help="Overwrite a network file that is there.")
@network_option
@json_option
def command(
    nodes: int | None,
    name: str | None,
    k: int | None,
    topology: str | None,
    secure: bool,
    force: bool,
    network: Path | None,
    output: Output,
) -> None:
    """Write a commented network.toml.

    It says which nodes there are, who hears whom, and how to cluster. Every key is explained in the file.
    """
    from dcka.config import FILE_NAME, State, from_mapping, template, write_whole
    from dcka.updates.keys import network_key

    file = network or Path(FILE_NAME)
    if file.exists() and not force:
        raise UsageError(
            f"{file} is there already; overwrite it with --force, or write another with --network FILE"
        )
    given: dict[str, dict[str, object]] = {
        "network": {"nodes": nodes, "name": name},
        "run": {"k": k},
        "topology": {"kind": topology or _default_kind(nodes)},
    }
    values = {
        section: {key: value for key, value in keys.items() if value is not None}
        for section, keys in given.items()
    }
    config = from_mapping(values, flags=_FLAGS)
    write_whole(file, template(values).encode())
    network_key(State.beside(file))
    locked = _secured(file) if secure else None
    following = _next_calls(network, secure)
    output.result(
        {
            "file": file.absolute(),
            "name": config.network.name,
            "nodes": config.ids,
            "topology": config.topology.kind,
            "broker": locked,
            "next": [call for call, _ in following],
        },
        f"wrote {file}: network {config.network.name}, {len(config.ids)} nodes, "
        f"topology {config.topology.kind}",
    )
    if locked is not None:
        output.say(
            f"wrote {locked}: a broker with a password for each node; dcka broker init says more of it"
        )
    width = max((len(call) for call, _ in following), default=0)
    for call, purpose in following:
        output.say(f"  {call:<{width}}   {purpose}")
    if not secure:
        output.say("that broker is open, for this computer alone; for a network, first: dcka broker init")


def _secured(file: Path) -> Path:
    """Make the broker's folder for a network file that has just been written; where it is."""
    from dcka.broker.folder import BrokerFolder
    from dcka.config import load
    from dcka.security.setup import Wishes, init

    folder = BrokerFolder.beside(file)
    init(load(file), folder, Wishes())
    return folder.path


def _default_kind(nodes: int | None) -> str:
    """The topologies of the paper's experiments where the number of nodes fits, else a grid: of the named
    ones without long hops, `gossip` agrees soonest on it."""
    return {None: "experiment1", 5: "experiment1", 20: "experiment2"}.get(nodes, "grid")


def _next_calls(network: Path | None, secure: bool = False) -> list[tuple[str, str]]:
    """The calls that come next, with what they are for: the verbs that there are."""
    where = "" if network is None else f" --network {shlex.quote(str(network))}"
    return [
        (f"dcka {verb}{' up' if secure and verb == 'broker' else arguments}{where}", purpose)
        for verb, arguments, purpose in _NEXT
        if verb in VERBS
    ]
