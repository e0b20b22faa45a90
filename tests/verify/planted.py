"""Nodes that lack one rule each: what the search has to find, or it proves nothing."""

from searched import Weak

from dcka_core import epochs, tree
from dcka_core.messages import Commit
from dcka_core.possible import size
from dcka_core.tree_messages import Up


class NoQuorum(Weak):
    """Rule 10: a root goes on with whoever is there."""

    class Session(tree.Session):
        def go_on_without(self) -> bool:
            self._absent = self._everyone & ~self._contributors()
            return True


class NoOverlapCheck(Weak):
    """Rule 9: sets that overlap are merged."""

    class Session(tree.Session):
        def _take(self, message: Up) -> None:
            inside = self._contributors
            self._contributors = lambda: 0  # type: ignore[method-assign]
            try:
                super()._take(message)
            finally:
                self._contributors = inside  # type: ignore[method-assign]
                del self._contributors


class SetsAreCounts(Weak):
    """Rules 8 and 9: a parent adds what comes, and knows how many have contributed, not who."""

    class Session(NoOverlapCheck.Session):
        def _settle(self, now: int) -> None:
            count = 1 + sum(size(up.contributors) for up in self._latest.values() if up.step == self._step)
            if self.root and not self.done and count >= len(self.run.members):
                self._absent = self._everyone & ~self._contributors()
            super()._settle(now)


class NoStartCheck(Weak):
    """Rule 9: sums count whatever centres they were made with."""

    class Session(tree.Session):
        def _take(self, message: Up) -> None:
            message.start = self._start
            super()._take(message)


class NoStepCheck(Weak):
    """Rule 9: sums count whatever step they are of."""

    class Session(tree.Session):
        def _take(self, message: Up) -> None:
            message.step, message.start = self._step, self._start
            super()._take(message)


class SaidBeforeFlash(Weak):
    """Rule 13: a commit is published first, and saved then."""

    class Session(tree.Session):
        def keep(self, commit: Commit) -> None:
            super().keep(commit)
            self._late = self.out.pop()

        def _spread(self, before: "Commit | None") -> None:
            super()._spread(before)
            self.out.append(self._late)


class NeverOnFlash(Weak):
    """Rule 13: a commit is not saved at all."""

    class Session(tree.Session):
        def keep(self, commit: Commit) -> None:
            super().keep(commit)
            self.out.pop()


class ForgivesTheMissing(Weak):
    """Rule 11: a commit names only who was missing in its own step."""

    class Session(tree.Session):
        def _commit(self) -> Commit:
            commit = super()._commit()
            commit.missing = self._absent
            return commit


class BareEpochs(Weak):
    """Rule 4: an epoch is a bare number, and whoever minted it its root."""

    class Epochs(epochs.Epochs):
        def mint(self, now: int) -> None:
            node = self._node
            seen = max(self._highest, node.epoch[0], node.held.epoch[0] if node.held else 0)
            # R0's name on all: one that is nobody's is refused by whoever hears it.
            node.epoch = (seen + 1, node.run.root, 0)
            self._founded += 1
            node.root = True
            node.parent = 0
            self._enter(now)


class RootOnceMore(Weak):
    """Rule 5: a root that comes back is root of epoch 0 again."""

    class Session(tree.Session):
        def start(self, held: "Commit | None", now: int) -> None:
            self.returned = False
            super().start(held, now)


class StaysRoot(Weak):
    """Rule 7: a root that joins a higher epoch still commits, in it."""

    class Epochs(epochs.Epochs):
        def _enter(self, now: int) -> None:
            node = self._node
            if node.run.root == node.node:
                node.root = True
                self._founded = 2
            super()._enter(now)


class StepBeforeEpochs(Weak):
    """Rule 12: the newest epoch's commit wins, whatever its step."""

    class Session(tree.Session):
        def receive_commit(self, sender: int, payload: "bytes | memoryview", now: int) -> None:
            held = self.held
            if held is not None and not self.done:
                self.held = None
                commit = tree.read_commit(payload, self.run)
                self.held = held
                if (commit.epoch, commit.step) > (held.epoch, held.step):
                    self._adopt(commit, now)
                    self._settle(now)
                return
            super().receive_commit(sender, payload, now)


class Relabels(Weak):
    """Rule 12: whoever adopts a commit takes it for one of its own epoch."""

    class Session(tree.Session):
        def _adopt(self, commit: Commit, now: int) -> None:
            commit.epoch = max(commit.epoch, self.epoch)
            super()._adopt(commit, now)


class ForgetsOtherSets(Weak):
    """Differences are sent though sums of two sets were said in the step before."""

    class Session(tree.Session):
        def _send_up(self, whole: bool = False) -> None:
            super()._send_up(whole)
            self._twice = -1


class ForgetsOtherStarts(Weak):
    """Differences are sent though there were sums of two starts in the step before."""

    class Session(tree.Session):
        def _begin(self, step: int, centres: "list[int] | None", now: int) -> None:
            super()._begin(step, centres, now)
            self._twice = -1
