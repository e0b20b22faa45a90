"""Data sets that come with the program: experiment 1 of the paper, and readings of four real motes."""

from dcka.datasets.nine_gaussians import gaussians
from dcka.datasets.real_motes import suthaharan

__all__ = ["gaussians", "suthaharan"]
