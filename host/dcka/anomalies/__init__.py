"""Readings farther from their centre than a quantile that the nodes agree on."""

from dcka.anomalies.found import Anomalies, NotFound, anomalies, find
from dcka.anomalies.plan_tail import plan_tail, tail_ppm_of
from dcka.anomalies.words import reveals, text

__all__ = ["Anomalies", "NotFound", "anomalies", "find", "plan_tail", "reveals", "tail_ppm_of", "text"]
