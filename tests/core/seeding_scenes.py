"""Networks for the tests of a seeding, and what they have to draw: by whole distances and sums, point by point."""

from scenes import Scene

from dcka_core.offers import exponential, wide_below
from dcka_core.starts import Stream


class SeedingScene(Scene):
    """Nodes with data on a bus that draw `k` points, over a tree."""

    def __init__(self, data, parents, **settings):
        settings.setdefault("k", 4)
        super().__init__(data, parents, kind="seeding", **settings)

    def record(self, number=1, **changes):
        record = super().record(number, **changes)
        for key in ("init", "max_steps", "slots", "max_slots", "window", "tolerance"):
            del record[key]
        return record

    def rows_of(self, node):
        flat = self.data[node]
        return [flat[at : at + self.n] for at in range(0, len(flat), self.n)]

    def drawn(self, node):
        """[(whose, point)] of a node's commit, as far as it goes."""
        k = self.record()["k"]
        centres = self.held(node).centres
        owners = centres[k * self.n : k * self.n + k]
        return [(owners[r], centres[r * self.n : (r + 1) * self.n]) for r in range(k) if owners[r]]

    def expected(self, present=None):
        """[(whose, point)] by hand. present: by round who is there; everybody where nothing is said."""
        record = self.record()
        drawn = []
        for turn in range(record["k"]):
            best = None
            for node in sorted(self.data):
                if present is None or node in present[turn]:
                    made = self.offer(node, [point for _, point in drawn], record["seed"])
                    if made and (best is None or made[0] * best[1] < best[0] * made[1]):
                        best = made
            if best is None:
                break
            drawn.append(best[2])
        return drawn

    def offer(self, node, centres, seed):
        points = self.rows_of(node)
        weights = [min([_squared(point, centre) for centre in centres]) if centres else 1 for point in points]
        total = sum(weights)
        if not total:
            return None
        label = b"plus" + node.to_bytes(4, "little") + len(centres).to_bytes(4, "little")
        stream = Stream(seed, label)
        e = exponential(stream.word())
        target = wide_below(stream, total)
        at = 0
        while target >= weights[at]:
            target -= weights[at]
            at += 1
        return e, total, (node, points[at])


def _squared(one, other):
    return sum([(one[j] - other[j]) ** 2 for j in range(len(one))])
