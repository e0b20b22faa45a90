"""Two updates in a week, one node first: to a version that is sound, and to one that is broken, which goes back."""

import hashlib
import random
from collections.abc import Mapping, Sequence
from typing import Any

from dcka.boards.versions import AirVersion
from dcka.emulation.virtual.channel import VirtualChannel
from dcka.emulation.virtual.versions import BEHAVIOUR_FILE, CRASHES, SOUND
from dcka.errors import DckaError
from dcka.updates.delivery import State
from dcka.updates.manifests import Signed, signed
from dcka.updates.rollout import Outcome, Rollout, Wishes

KEY = hashlib.sha256(b"the key of a simulated network").digest()
# The nodes stay for so long at the clustering that an update comes before.
AWAKE_S = 1800
_WISHES = Wishes(canary=1, soak_s=10.0, parallel=8, join_s=700.0, patience_s=60.0)
_CODE_BYTES = 6000
# When in the week, as parts of its clusterings.
SOUND_AT, BROKEN_AT = 0.4, 0.7


def version(behaviour: bytes, seed: int) -> AirVersion:
    """A version of two files, whose program behaves so."""
    chance = random.Random(f"{seed} {behaviour!r}")
    files = {
        "config.json": b"{}",
        "code.mpy": chance.randbytes(_CODE_BYTES),
        BEHAVIOUR_FILE: behaviour,
    }
    whole = hashlib.sha256(b"".join(files[path] for path in sorted(files)))
    return AirVersion(files, whole.hexdigest()[:12], 0)


class Updater:
    """`outcomes`: by behaviour, what came of each."""

    def __init__(self, channel: VirtualChannel, seed: int, clusterings: int) -> None:
        self.outcomes: dict[bytes, Outcome] = {}
        self._channel = channel
        self._seed = seed
        self._chance = random.Random(f"{seed} transfers")
        self._due = {round(SOUND_AT * clusterings): SOUND, round(BROKEN_AT * clusterings): CRASHES}

    def is_due(self, number: int) -> bool:
        """Whether one comes before this clustering."""
        return number in self._due

    def roll_out(self, number: int, nodes: Sequence[int]) -> None:
        """Update `nodes`, which are awake, by the rules of `dcka update`."""
        behaviour = self._due[number]
        air = version(behaviour, self._seed)

        def plan(node: int, facts: Mapping[str, Any]) -> Signed | None:
            if facts.get("version") == air.version:
                return None
            return signed(air, self._channel.network, node, int(facts["counter"]) + 1, KEY)

        rollout = Rollout(self._channel, nodes, plan, _WISHES, draw=lambda: self._chance.getrandbits(31))
        try:
            self.outcomes[behaviour] = rollout.run()
        except DckaError as error:
            self.outcomes[behaviour] = Outcome({}, (), str(error))

    def joined(self) -> int:
        """Nodes that have taken a version and joined with it, over all updates."""
        return sum(outcome.count(State.JOINED) for outcome in self.outcomes.values())

    def record(self) -> list[dict[str, Any]]:
        """For the report."""
        return [
            {
                "behaviour": behaviour.decode(),
                **{str(state): outcome.count(state) for state in State if outcome.count(state)},
                "stopped": outcome.stopped,
            }
            for behaviour, outcome in self.outcomes.items()
        ]
