"""The demonstration: a network brought up, two runs from the same start, both checked, a picture, a verdict."""

from dcka.demo.play import play
from dcka.demo.report import Act, Report
from dcka.demo.scenario import SCENARIOS, Scenario, Settings
from dcka.demo.stage import NodeCrashed

__all__ = ["SCENARIOS", "Act", "NodeCrashed", "Report", "Scenario", "Settings", "play"]
