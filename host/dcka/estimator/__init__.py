"""`DCKA`: the whole network as a scikit-learn estimator, its nodes in memory. What it needs is the extra `estimator`.

`parameters`: what is asked for, checked as network.toml is. `nodes`: the firmware's core on these readings, to the end
of its run. `steps`: what each outer step came to and cost. `grid`: readings as a node sees them.
"""

from dcka.estimator.dcka import DCKA
from dcka.estimator.errors import GridWarning
from dcka.estimator.steps import Step

__all__ = ["DCKA", "GridWarning", "Step"]
