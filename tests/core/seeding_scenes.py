"""Networks for the tests of a seeding, and what they have to draw: by whole distances and sums, point by point."""

from scenes import FORK, Scene, cloud
from tree_laws import kept

from dcka_core.actions import SAVE
from dcka_core.messages import CONVERGED, FINAL
from dcka_core.offers import exponential, wide_below
from dcka_core.record import read_run
from dcka_core.session import COMMIT_FILE
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
        return self.drawn_by(self.held(node))

    def drawn_by(self, commit):
        k = self.record()["k"]
        centres = commit.centres
        owners = centres[k * self.n : k * self.n + k]
        return [(owners[r], centres[r * self.n : (r + 1) * self.n]) for r in range(k) if owners[r]]

    def expected(self, present=None):
        """[(whose, point)] by hand. present: by round who is there; everybody where nothing is said."""
        drawn = []
        for turn in range(self.record()["k"]):
            chosen = self.chosen(drawn, self.data if present is None else present[turn])
            if chosen is None:
                break
            drawn.append(chosen)
        return drawn

    def chosen(self, drawn, present):
        """(whose, point) that these nodes draw next; None where they have nothing to offer."""
        best = None
        for node in sorted(present):
            made = self.offer(node, [point for _, point in drawn], self.record()["seed"])
            if made and (best is None or made[0] * best[1] < best[0] * made[1]):
                best = made
        return best and best[2]

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


class Commits:
    """A bus's trace of commits alone: a small interpreter has no room for all that nodes ask for."""

    def __init__(self):
        self._kept = []

    def append(self, pair):
        if pair[1][0] == SAVE and pair[1][1] == COMMIT_FILE:
            self._kept.append(pair)

    def __iter__(self):
        return iter(self._kept)


def new_scene(parents=FORK, counts=12, k=5, **settings):
    data = {node: cloud(node, counts + node) for node in parents}
    scene = SeedingScene(data, parents, k=k, **settings)
    scene.bus.trace = Commits()
    return scene


def check_draws(scene):
    """Every commit that anybody put on flash, of whatever root: what its contributors draw after what was drawn before.

    The bus has to keep its `trace`. Returns how many different ones there were.
    """
    run = read_run(scene.record())
    made = {}
    for _, commit in kept(scene):
        place = (commit.epoch, commit.step)
        drawn = scene.drawn_by(commit)
        present = [node for index, node in enumerate(run.members) if commit.contributors >> index & 1]
        assert 2 * len(present) > len(run.members), place
        chosen = scene.chosen(drawn[: commit.step - 1], present)
        if chosen is None:
            assert len(drawn) == commit.step - 1 and commit.flags == FINAL | CONVERGED, place
        else:
            assert len(drawn) == commit.step and drawn[-1] == chosen, place
            assert commit.flags == (FINAL if commit.step == run.max_steps else 0), place
        assert (max(commit.counts), commit.ssd) == (0, 0), place
        said = (drawn, commit.contributors, commit.missing)
        assert made.setdefault(place, said) == said, place
    return len(made)


def _squared(one, other):
    return sum([(one[j] - other[j]) ** 2 for j in range(len(one))])
