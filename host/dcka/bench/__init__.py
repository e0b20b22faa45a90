"""What a clustering costs on the air, method beside method: `dcka bench airtime`. docs/airtime.md explains the table.

`pinned`, `ulb`: the graphs and data of the cases. `nodes`, `tree_runs`: the firmware's own nodes on a network in
memory. `gossip`, `float_tree`, `raw`: the methods that ours is compared with, simulated slot by slot and encoded to
bytes. `traffic`, `charge`: what is counted, and what it comes to by the energy model. `scaling`: growth and loss.
`airtime`: all of it, as one record.
"""

from dcka.bench.airtime import CASES, PARTS, airtime
from dcka.bench.errors import BenchError
from dcka.bench.words import text

__all__ = ["CASES", "PARTS", "BenchError", "airtime", "text"]
