"""K-means at speed, for Monte Carlo runs on the host: compiled sweeps that skip what cannot have changed.

`lloyd`: runs, on points that were `prepare`d once. `first`: the first step of DCKA, where nodes have centres of their
own. `tiles`, `blocks`: the two sweeps. `dcka.reference` checks it: same labels, same centres.
"""

from dcka.engine.first import First, blend, means
from dcka.engine.runs import EngineError, Points, Result, lloyd, prepare

__all__ = ["EngineError", "First", "Points", "Result", "blend", "lloyd", "means", "prepare"]
