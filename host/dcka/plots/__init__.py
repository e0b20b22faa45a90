"""Pictures of runs: the readings, every node's centres, the reference's centres."""

from dcka.plots.draw import draw_run
from dcka.plots.scene import Panel, panel

__all__ = ["Panel", "draw_run", "panel"]
