"""`make verify`: the whole search, some minutes.

`PYTHONPATH=tests/core python tests/verify [SECONDS]`: the most for each network; 60 where nothing is said.
"""

import random
import sys

from fair import unfair_end
from networks import search
from search import Bounds, Found, Search

# (shape, steps, power cuts, mints, runs, root, whether nodes always speak in full).
WHOLE = [
    ("line of 3", 3, 0, 2, 1, 1, True),
    ("line of 3", 2, 1, 2, 1, 2, True),
    ("line of 3", 2, 2, 1, 1, 2, True),
    ("line of 3", 1, 1, 1, 2, 1, True),
    ("triangle", 3, 0, 1, 1, 1, True),
    ("triangle", 2, 0, 2, 1, 1, True),
    ("triangle", 2, 1, 1, 1, 1, True),
    ("triangle", 1, 2, 1, 1, 1, True),
    ("line of 4", 2, 0, 1, 1, 2, True),
    ("line of 4", 1, 1, 1, 1, 2, True),
    ("star of 4", 2, 0, 1, 1, 1, True),
    ("star of 4", 1, 1, 1, 1, 1, True),
    ("ring of 4", 1, 0, 1, 1, 1, True),
    ("ring of 4", 1, 0, 2, 1, 1, True),
    ("ring of 4", 1, 1, 1, 1, 1, True),
    ("diamond", 1, 0, 1, 1, 1, True),
    ("diamond", 1, 1, 1, 1, 1, True),
    ("line of 3", 3, 1, 0, 1, 1, False),
    ("line of 3", 3, 0, 1, 1, 1, False),
    ("line of 3", 2, 1, 1, 1, 1, False),
    ("triangle", 2, 0, 1, 1, 1, False),
    ("line of 4", 3, 0, 0, 1, 1, False),
    ("line of 4", 2, 1, 0, 1, 1, False),
]
SAMPLES = 300


def unfair(looked: Search, found: Found) -> str:
    """What is wrong with a sample of the states once faults have stopped; nothing where nothing is."""
    chance = random.Random(1)
    for place in chance.sample(range(found.states), min(found.states, SAMPLES)):
        end = unfair_end(looked, looked.states[place])
        if end:
            return f"after {looked.way(place)} it ends with {end}"
    return ""


def main(most_s: float) -> int:
    """Search them all; 1 where a law is broken."""
    total, seconds, broken = 0, 0.0, 0
    for shape, steps, crashes, mints, runs, root, whole in WHOLE:
        looked = search(shape, steps, Bounds(crashes, mints, most_s), root, runs, whole=whole)
        found = looked.run()
        total, seconds = total + found.states, seconds + found.seconds
        wrong = found.violation or unfair(looked, found)
        looked.machines.check_changes()
        broken += bool(wrong)
        print(
            f"{shape}, root {root}: {runs} runs of {steps} steps, {crashes} power cuts, {mints} mints, "
            f"{'in full' if whole else 'with differences'}: {found.states:,} states in {found.seconds:.0f} s, "
            f"{'all' if found.finished else 'the nearest'}; {wrong or 'nothing found'}",
            flush=True,
        )
    print(f"{total:,} states, {total / seconds:,.0f} a second; {broken} networks with something found")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 60.0))
