"""The parts of the core that a node needs one at a time, and can drop: a small heap has no room for code that rests."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def part(name: str) -> "Any":
    """The module of the part `name`: record, points, intake, starts, labels, tree, epochs, duty, quarantine, gossip,
    survey, survey_grid, survey_points, seeding, score, indices, tail, forgetting, forgetting_duty, window; or what
    reads a record of theirs: slot_record, seeding_record, score_record, tail_record, prior_record. None for "", which
    only asks the shell to drop what is loaded.
    """
    if not name:
        return None
    module = "gossip_session" if name == "gossip" else name
    return getattr(__import__("dcka_core." + module), module)
