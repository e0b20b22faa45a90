"""The reference: K-means and DCKA written from the protocol and the paper alone, with numpy and nothing else.

It checks what the nodes compute, so it shares no code with them. Whatever does not fit raises ValueError with
a sentence. Points and centres are tables, (M, n) and (K, n); grid coordinates are int64.
"""

from dcka.reference.checks import StepCheck, check_step, gossip_tolerance
from dcka.reference.cka import FloatResult, FloatStep, GridResult, GridStep, assign, cka, cka_grid, ssd
from dcka.reference.dcka_float import FloatDcka, FloatOuterStep, InnerClock, dcka
from dcka.reference.dcka_gossip import GossipRules, GossipRun, GossipStep, gossip_run, put_hash
from dcka.reference.dcka_tree import TreeRun, TreeStep, tree_run
from dcka.reference.dkm import DkmRun, dkm
from dcka.reference.forgetting import remembered
from dcka.reference.graphs import (
    Link,
    check_jointly_connected,
    degrees,
    experiment1_phases,
    experiment2_phases,
    flood_slots,
    neighbours,
    parts,
    union,
)
from dcka.reference.grid import Grid, bits_for, fit_grid, round_half_up
from dcka.reference.indices import Indices, indices
from dcka.reference.mass import fraction_bits
from dcka.reference.randoms import Stream
from dcka.reference.seeding import Pick, distributed_plus_plus, exponential, offer, partition_labels
from dcka.reference.segments import segment_readings
from dcka.reference.starts import (
    kmeans_plus_plus,
    local_indices,
    local_start,
    local_start_hash,
    random_points_start,
    shared_start,
    snake_order,
    sorted_order,
    start_hash,
)
from dcka.reference.survey import (
    ReadingsGrid,
    SurveyRun,
    deviations,
    readings_grid,
    survey_run,
)
from dcka.reference.tail import TailRun, tail_run
from dcka.reference.weights import (
    Rate,
    equal_shares,
    is_column_stochastic,
    is_doubly_stochastic,
    metropolis,
    predicted_rate,
)
from dcka.reference.window import ReadingsWindow, WindowPoints

__all__ = [
    "DkmRun",
    "FloatDcka",
    "FloatOuterStep",
    "FloatResult",
    "FloatStep",
    "GossipRules",
    "GossipRun",
    "GossipStep",
    "Grid",
    "GridResult",
    "GridStep",
    "Indices",
    "InnerClock",
    "Link",
    "Pick",
    "Rate",
    "ReadingsGrid",
    "ReadingsWindow",
    "StepCheck",
    "Stream",
    "SurveyRun",
    "TailRun",
    "TreeRun",
    "TreeStep",
    "WindowPoints",
    "assign",
    "bits_for",
    "check_jointly_connected",
    "check_step",
    "cka",
    "cka_grid",
    "dcka",
    "degrees",
    "deviations",
    "distributed_plus_plus",
    "dkm",
    "equal_shares",
    "experiment1_phases",
    "experiment2_phases",
    "exponential",
    "fit_grid",
    "flood_slots",
    "fraction_bits",
    "gossip_run",
    "gossip_tolerance",
    "indices",
    "is_column_stochastic",
    "is_doubly_stochastic",
    "kmeans_plus_plus",
    "local_indices",
    "local_start",
    "local_start_hash",
    "metropolis",
    "neighbours",
    "offer",
    "partition_labels",
    "parts",
    "predicted_rate",
    "put_hash",
    "random_points_start",
    "readings_grid",
    "remembered",
    "round_half_up",
    "segment_readings",
    "shared_start",
    "snake_order",
    "sorted_order",
    "ssd",
    "start_hash",
    "survey_run",
    "tail_run",
    "tree_run",
    "union",
]
