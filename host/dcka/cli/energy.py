"""`dcka energy`: how long a battery lasts, modelled, for a pace of clusterings."""

from typing import Any

import click

from dcka.cli.options import examples, json_option
from dcka.cli.output import Output

_PACES_S = (600, 3600, 21_600, 86_400)


@click.command(
    "energy",
    epilog=examples(
        "dcka energy                                     a table of paces",
        "dcka energy --every 3600 --sample 60            one of them, by cause",
        "dcka energy --battery-mah 6000 --run-s 20 --json",
    ),
)
@click.option(
    "--every", type=click.FloatRange(10), metavar="S", help="Seconds between clusterings; without it a table."
)
@click.option(
    "--sample", type=click.FloatRange(0), default=60.0, metavar="S",
    help="Seconds between readings; 0 = none.  [default: 60]",
)  # fmt: skip
@click.option(
    "--run-s", type=click.FloatRange(0), default=5.0, metavar="S",
    help="How long a clustering takes a board: assumed, nothing was measured.  [default: 5]",
)  # fmt: skip
@click.option(
    "--battery-mah", type=click.FloatRange(1), default=2000.0, metavar="MAH", help="[default: 2000]"
)
@json_option
def command(every: float | None, sample: float, run_s: float, battery_mah: float, output: Output) -> int:
    """Say what a day of a node that sleeps deeply costs, and for how many days a battery has that.

    All of it is modelled: counts by the firmware's own rota and clock, currents by a datasheet (docs/energy.md). No
    board's current was measured.
    """
    from dcka.energy.sleeper import Sleeper, modelled_day

    paces = _PACES_S if every is None else (every,)
    days = [modelled_day(Sleeper(pace, sample, run_s), battery_mah) for pace in paces]
    output.result(days[0] if every is not None else {"modelled": True, "paces": days}, _text(days))
    return 0


def _text(days: list[dict[str, Any]]) -> str:
    lines = ["modelled, not measured:"]
    for one in days:
        lines.append(
            f"  a clustering every {one['every_s']:,.0f} s, a reading every {one['sample_s']:,.0f} s: "
            f"{one['mah_a_day']:.2f} mAh a day, {one['battery_days']:,.0f} days of {one['battery_mah']:,.0f} mAh"
        )
    if len(days) == 1:
        parts = sorted(days[0]["by_cause"].items(), key=lambda part: -part[1])
        lines.extend(f"    {cause.replace('_', ' ')}: {mah:.3f} mAh" for cause, mah in parts if mah >= 0.0005)
    return "\n".join(lines)
