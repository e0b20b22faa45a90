"""What `DCKA` was asked for as the configuration of a network: the same checks, the same words, the same planning."""

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from dcka.config import Config, from_mapping
from dcka.errors import UsageError
from dcka.estimator.errors import ParameterError

PARAMETERS = {
    ("network", "nodes"): "n_nodes",
    ("run", "schedule"): "consensus",
    ("run", "k"): "n_clusters",
    ("run", "init"): "init",
    ("run", "max_steps"): "max_iter",
    ("run", "tolerance"): "tol",
    ("run", "max_slots"): "max_slots",
    ("run", "seed"): "random_state",
    ("topology", "kind"): "topology",
    ("topology", "phases"): "topology",
}
"""(section, key) of network.toml → the parameter that stands for it."""


def configuration(parameters: Mapping[str, Any], seed: int) -> Config:
    """The network that the parameters of a `DCKA` describe. Raises ParameterError, naming the parameter."""
    named: dict[str, dict[str, object]] = {"network": {}, "run": {"seed": seed}}
    for (section, key), parameter in PARAMETERS.items():
        if parameter not in ("random_state", "topology", "init"):
            named[section][key] = _plain(parameters[parameter])
    if isinstance(parameters["init"], str):
        named["run"]["init"] = parameters["init"]
    named["topology"] = _topology(parameters["topology"])
    try:
        return from_mapping(named, "DCKA", {key: f"{name} =" for key, name in PARAMETERS.items()})
    except UsageError as error:
        raise ParameterError(str(error).replace(" =:", ":")) from None


def start(init: Any, n_clusters: int, features: int) -> NDArray[np.float64] | None:
    """The centres that `init` gives, (K, n); None where it is the name of a start. Raises ParameterError."""
    if isinstance(init, str):
        return None
    try:
        centres = np.array(init, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(
            f"init = {init!r} is neither the name of a start nor a table of centres"
        ) from None
    if centres.shape != (n_clusters, features) or not np.isfinite(centres).all():
        raise ParameterError(
            f"init has the shape {centres.shape}: give n_clusters = {n_clusters} centres of {features} finite "
            "numbers each, or the name of a start"
        )
    return centres


def seed_of(random_state: Any) -> int:
    """The run's seed: a whole number is the seed itself, as `dcka run --seed` has it; else it is drawn, as scikit-learn
    draws from a `random_state`. Raises ParameterError for a number that is no seed."""
    try:
        seed = operator.index(random_state)
    except TypeError:
        return int(check_random_state(random_state).randint(2**31))
    if not 0 <= seed < 1 << 63:
        raise ParameterError(f"random_state = {seed}: a seed is a whole number from 0 to 2^63 − 1")
    return seed


def _topology(topology: Any) -> dict[str, object]:
    """The section [topology]: a kind by its name, the section itself, or phases of links."""
    if isinstance(topology, str):
        return {"kind": topology}
    if isinstance(topology, Mapping):
        return {str(key): _plain(value) for key, value in topology.items()}
    if isinstance(topology, Sequence):
        try:
            links = [[[operator.index(node) for node in link] for link in phase] for phase in topology]
        except TypeError:
            links = []
        if links:
            return {"phases": links}
    raise ParameterError(
        f"topology = {topology!r}: give the name of one, such as 'ring', a dict with the keys of [topology] in "
        "network.toml, or a list of phases, each a list of links (a, b)"
    )


def _plain(value: Any) -> Any:
    """A number of numpy's, as a search over parameters has them, as Python's own."""
    return value.item() if isinstance(value, np.generic) else value
