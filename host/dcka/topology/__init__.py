"""Graphs of who hears whom, and the rows of the schedules that run on them.

`graph`: ids, phases, joint connectedness. `families`: topologies by name. `gossip_rows`, `tree_rows`: what
each node has to know. `records`: the JSON that is published.
"""

from dcka.topology.families import KINDS, Shape, named
from dcka.topology.gossip_rows import PhaseRow, gossip_rows, window_slots
from dcka.topology.graph import Graph, Link, TopologyError
from dcka.topology.records import Schedule, schedule
from dcka.topology.tree_rows import Tree, TreeRow, spanning_tree

__all__ = [
    "KINDS",
    "Graph",
    "Link",
    "PhaseRow",
    "Schedule",
    "Shape",
    "TopologyError",
    "Tree",
    "TreeRow",
    "gossip_rows",
    "named",
    "schedule",
    "spanning_tree",
    "window_slots",
]
