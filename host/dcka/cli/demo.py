"""`dcka demo`: a network on this computer clusters a data set, and is checked."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dcka.cli.history import Kept, history_options
from dcka.cli.monitor_web import web_options, web_wish
from dcka.cli.options import (
    examples,
    faults_of,
    init_choice,
    json_option,
    radio_options,
    range_choice,
    require_quantile,
)
from dcka.cli.output import Output
from dcka.errors import UsageError

if TYPE_CHECKING:
    from dcka.cli.monitor_web import Wish
    from dcka.demo import Report, Settings
    from dcka.demo.mishaps import Mishaps
    from dcka.demo.play import View

RUNTIMES = ("micropython", "cpython")
SCHEDULES = ("both", "gossip", "tree")


@click.command(
    "demo",
    epilog=examples(
        "dcka demo                                     five MicroPython nodes, nine Gaussians",
        "dcka demo --web --open                        and watch it in the browser, again and again",
        "dcka demo --data suthaharan                   readings of four real motes",
        "dcka demo --runtime cpython --json            one object, for scripts",
        "dcka demo --schedule tree --k 4 --seed 7",
        "dcka demo --loss 0.2                          every fifth message between nodes is lost",
        "dcka demo --range quantile --spike            a wild reading costs the others nothing",
        "dcka demo --slot-ms 60 --drift 0.02           nodes that sleep, and clocks that are wrong",
        "dcka demo --kill-node 3 --at-step 4 --allow-partial",
        "dcka demo --broker mqtt://192.168.1.10:1883   over a broker that is there",
    ),
)
@click.option(
    "--data", type=click.Choice(("gaussians", "suthaharan")), default="gaussians", show_default=True,
    help="The readings: the paper's first experiment, or humidity and temperature of four motes.",
)  # fmt: skip
@click.option(
    "--runtime", type=click.Choice(RUNTIMES),
    help="The nodes: real MicroPython processes, or CPython.  [default: micropython where there is one]",
)  # fmt: skip
@click.option("--heap", metavar="SIZE", help="Of each MicroPython process.  [default: 128K]")
@click.option(
    "--broker-engine", "engine", type=click.Choice(("embedded", "mosquitto")),
    help="The broker that is started.  [default: embedded]",
)  # fmt: skip
@click.option("--broker", "url", metavar="URL", help="A broker that is there, instead of starting one.")
@click.option(
    "--schedule", type=click.Choice(SCHEDULES), default="both", show_default=True,
    help="The paper's gossip, the exact tree, or one after the other from the same start.",
)  # fmt: skip
@range_choice
@click.option("--spike", is_flag=True, help="Move one reading 100 standard deviations away from all others.")
@click.option("--k", type=int, metavar="K", help="Clusters.  [default: 9 for gaussians, 4 for suthaharan]")
@click.option("--seed", type=int, metavar="N", help="Of the start.")
@init_choice
@click.option(
    "--slot-ms",
    type=int,
    default=0,
    metavar="MS",
    help="tree: nodes sleep between slots of so long; 0 = never.",
)
@click.option(
    "--drift",
    type=float,
    default=0.0,
    metavar="SHARE",
    help="Clocks that are up to so much wrong; 0.02 at most.",
)
@radio_options
@click.option("--kill-node", metavar="ID", help="Take this node's power in mid-run; ROOT is the tree's root.")
@click.option("--restart-broker", is_flag=True, help="Stop the broker in mid-run, and start it again.")
@click.option(
    "--at-step", type=int, metavar="N", help="The outer step after which that happens.  [default: 4]"
)
@click.option(
    "--return-after", type=float, metavar="S", help="Give the node its power back after so many seconds."
)
@web_options
@click.option(
    "--allow-partial", is_flag=True, help="Exit code 0 also where nodes were missing, and all else is right."
)
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), default=Path(), metavar="DIR",
    help="Where dcka-demo.png goes.  [default: this folder]",
)  # fmt: skip
@history_options
@json_option
def command(
    data: str,
    runtime: str | None,
    heap: str | None,
    engine: str | None,
    url: str | None,
    schedule: str,
    k: int | None,
    seed: int | None,
    init: str | None,
    out: Path,
    allow_partial: bool,
    slot_ms: int,
    drift: float,
    loss: float,
    duplicate: float,
    reorder: float,
    delay_ms: float,
    range: str | None,
    tail: float | None,
    scale: str | None,
    spike: bool,
    web: str | None,
    password_file: Path | None,
    open_page: bool,
    history: str | None,
    no_history: bool,
    output: Output,
    **mishaps: Any,
) -> int:
    """Show it all: broker, nodes, data, two runs from the same start, a check, a picture, a verdict.

    First the consensus of the paper (gossip, on a topology of which no single slot is connected), then the exact
    one (tree). Both are compared with the reference. Things may go wrong on purpose, in the air and in mid-run. Exit
    code 0 for PASS, 1 for FAIL and for PARTIAL, where a node was missing. Nothing is left running, and nothing is
    kept but the picture, dcka-demo.png, and the runs in the history.
    """
    from dcka.demo import SCENARIOS, Settings, play
    from dcka.demo.screen import screen

    if engine is not None and url is not None:
        raise UsageError(
            "--broker names a broker that is there, --broker-engine one to start: give one of both"
        )
    happens = _mishaps(**mishaps)
    if (happens.kill_node is not None or slot_ms) and schedule == "both":
        schedule = "tree"
    require_quantile(tail, range or "host")
    settings = Settings(
        scenario=SCENARIOS[data],
        runtime=_runtime(runtime, output),
        heap=heap or "128K",
        engine=engine or "embedded",
        url=url,
        schedules=("gossip", "tree") if schedule == "both" else (schedule,),
        k=k,
        seed=seed,
        init=init,
        out=out,
        faults=faults_of(loss, duplicate, reorder, delay_ms),
        mishaps=happens,
        data={
            name: value
            for name, value in (("range", range), ("tail", tail), ("scale", scale))
            if value is not None
        },
        spike=spike,
        slot_ms=slot_ms,
        drift=drift,
    )
    if heap is not None and settings.runtime == "cpython":
        output.say("note: --heap is of MicroPython's processes; CPython has no such limit")
    wish = web_wish(web, password_file, open_page)
    with Kept(output, history, no_history) as kept:
        with screen(output.console, settings.schedules) as view:
            report = play(settings, view) if wish is None else _beside_page(settings, view, wish, output)
        for act in report.acts.values():
            kept.add(act.outcome, None if report.dataset is None else report.dataset.record(), act.verdict)
    code = _tell(report, output)
    return 0 if allow_partial and report.word == "PARTIAL" else code


def _beside_page(settings: "Settings", view: "View", wish: "Wish", output: Output) -> "Report":
    """The demonstration with the monitor's page beside it."""
    from dcka.cli.demo_web import Beside
    from dcka.demo import play

    beside = Beside(wish, view, output)
    return play(settings, beside.view, beside.network)


def _mishaps(
    kill_node: str | None, restart_broker: bool, at_step: int | None, return_after: float | None
) -> "Mishaps":
    """What is to happen in mid-run. Raises UsageError."""
    from dcka.demo.mishaps import Mishaps

    if at_step is not None and kill_node is None and not restart_broker:
        raise UsageError("--at-step is the step of a mishap: name one with --kill-node or --restart-broker")
    return Mishaps(kill_node, 4 if at_step is None else at_step, return_after, restart_broker)


def _runtime(chosen: str | None, output: Output) -> str:
    """The one that was chosen; else MicroPython, or CPython with a word where there is none for this machine."""
    from dcka.emulation.micropython import available

    if chosen is not None:
        return chosen
    state = available()
    if not state:
        output.say(f"note: {state.reason}; that is what this demo does now")
    return "micropython" if state else "cpython"


def _tell(report: "Report", output: Output) -> int:
    shown = set()
    for failure in report.crashed:
        output.error(failure.sentence)
        if failure.output not in shown:
            shown.add(failure.output)
            for line in failure.output:
                output.say(f"  {line}")
    output.result(report.record(), report.text())
    return 0 if report.passed else 1
