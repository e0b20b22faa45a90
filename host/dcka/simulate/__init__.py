"""Networks of thousands of nodes in one process, sparse: `dcka simulate`.

`graph`: who hears whom, phase by phase. `nodes`: what the nodes hold, and their own sums. `exact`: sums up a spanning
tree, in whole numbers. `gossip`: the paper's consensus, in float64. `run`: both, and what they take.
"""

from dcka.simulate.run import Settings, SimulationError, simulate, text

__all__ = ["Settings", "SimulationError", "simulate", "text"]
