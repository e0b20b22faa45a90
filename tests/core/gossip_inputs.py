"""What the nodes of `gossip` put into each step, and how far a centre is from the mean of it."""

from dcka_core import gossip

# The protocol measures spreads in 1/256 of a grid step.
LEVELS = 256


class Inputs:
    """Within it, what every node puts into every step is noted: {step: [sums, ...]}."""

    def __enter__(self):
        self.put = {}
        self.begin = gossip.Gossip.begin
        outer = self

        def begin(self, step, sums, moved):
            outer.put.setdefault(step, []).append(list(sums))
            return outer.begin(self, step, sums, moved)

        gossip.Gossip.begin = begin
        return self.put

    def __exit__(self, *_):
        gossip.Gossip.begin = self.begin


def errors(put, centres, k, n):
    """How far, in 1/256 of a grid step, each coordinate is from Σu / Σm of what was put in; None where Σm = 0."""
    sums = [sum(column) for column in zip(*put)]
    found = []
    for cluster in range(k):
        row = cluster * (n + 1)
        for j in range(n):
            if sums[row]:
                exact = sums[row + 1 + j] * LEVELS // sums[row]
                found.append(abs(centres[cluster * n + j] * LEVELS - exact))
            else:
                found.append(None)
    return found
