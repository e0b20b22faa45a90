"""The schedule designer: a radio graph in, a proven timetable out, with its modelled cost.

`radio`, `ulb`: graphs from files. `tree_design`, `tree_slots`, `gossip`, `pairs`: the kinds. `timetable`, `proof`: what
they make, and the execution that proves it. `cost`: what it takes of each node. `design`: all of that together.
`words`, `picture`, `fragment`: a design for a terminal, for the eye, for `dcka run`.
"""

from dcka.schedule.cost import NodeCost, Usage
from dcka.schedule.design import Design, design_gossip, design_pairs, design_tree
from dcka.schedule.errors import ScheduleError
from dcka.schedule.pairs import Algorithm
from dcka.schedule.proof import prove
from dcka.schedule.radio import Radio, read_edges, read_strengths
from dcka.schedule.timetable import Access, Send, Timetable, What

__all__ = [
    "Access",
    "Algorithm",
    "Design",
    "NodeCost",
    "Radio",
    "ScheduleError",
    "Send",
    "Timetable",
    "Usage",
    "What",
    "design_gossip",
    "design_pairs",
    "design_tree",
    "prove",
    "read_edges",
    "read_strengths",
]
