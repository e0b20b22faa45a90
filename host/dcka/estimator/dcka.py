"""The estimator: distributed K-means in scikit-learn's conventions, by the nodes' own code (docs/python.md)."""

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from dcka.errors import DckaError
from dcka.estimator.errors import GridWarning, ParameterError
from dcka.estimator.grid import Floats, distances, levels_of, nearest
from dcka.estimator.nodes import Ended, run
from dcka.estimator.parameters import configuration, seed_of, start
from dcka.inject.dataset import Dataset, from_values


class DCKA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Distributed K-means of a network of sensor nodes, each of which keeps its own samples.

    `fit` lets `n_nodes` nodes in memory run dcka's own firmware core on their shares of the samples: whole numbers on a
    grid that all share, exact sums, the messages that boards would send. With the same shares, start and seed a real
    network ends with the same bits.

    Parameters:
        n_clusters, n_nodes: K and N; nodes have the ids 1 … N.
        consensus: "tree" (exact) or "gossip" (the paper's averages on a switching graph).
        topology: who hears whom. A name ("ring", "line", "grid", "star", "complete", "random", "experiment1",
            "experiment2"), a dict of the keys of [topology] in network.toml, such as {"kind": "ring", "split": 2}, or a
            list of phases, each a list of links (a, b).
        init: a start of docs/starts.md, "local", "sorted", "snake", "shared", "partition" or "kmeans++", or a table
            (K, n_features) of centres.
        max_iter: the most outer steps.
        tol: of gossip alone, the fraction of the samples' range to within which nodes agree; a tree stops when no
            centre moves.
        max_slots: of gossip, the most that an outer step takes.
        random_state: a whole number is the seed of the run itself, as `dcka run --seed` has it.

    Attributes of a fitted one:
        cluster_centers_: (K, n_features), of the node with the lowest id; in a tree all nodes have the same bits.
        node_centers_: (N, K, n_features), of every node.
        labels_: (M,). inertia_: the squared distances to the nearest centre, on the grid, in the samples' units.
        n_iter_: outer steps. converged_: whether they ended by themselves. history_: a `Step` for each.
        broadcasts_, bytes_: messages among the nodes, and their payload. node_broadcasts_, node_bytes_: (N,).
        seeding_broadcasts_, seeding_bytes_: those of them that drew the start of "kmeans++".
        sample_node_: (M,), the id of each sample's node.
        grid_, seed_, run_record_: what the nodes had in common.
        n_features_in_, and feature_names_in_ where the columns have names.
    """

    def __init__(
        self,
        n_clusters: int = 8,
        n_nodes: int = 5,
        *,
        consensus: str = "tree",
        topology: Any = "ring",
        init: Any = "local",
        max_iter: int = 100,
        tol: float = 1e-4,
        max_slots: int = 200,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_nodes = n_nodes
        self.consensus = consensus
        self.topology = topology
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.max_slots = max_slots
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: Any = None, *, sample_node: ArrayLike | None = None) -> Self:
        """Cluster X (M, n_features). `sample_node`: (M,), the node of each sample, an id 1 … N; without it they are
        dealt out in turn, as `dcka inject` does. Warns where it has not converged (ConvergenceWarning), and where a
        column keeps too few levels of the common grid (GridWarning).

        Raises ValueError, with a sentence, for what does not fit. There is no `sample_weight`: a node counts readings,
        and the protocol has no place for weights; repeat a sample, which is exact.
        """
        table = validate_data(self, X, dtype=np.float64)
        seed = seed_of(self.random_state)
        config = configuration(self.get_params(deep=False), seed)
        if self.n_clusters > len(table):
            raise ParameterError(
                f"n_clusters = {self.n_clusters} is more than n_samples = {len(table)}; take fewer clusters"
            )
        given = start(self.init, config.run.k, table.shape[1])
        owners = _owners(sample_node, len(table), config.ids)
        dataset = self._dataset(table, {node: np.flatnonzero(owners == node) for node in config.ids})
        self.sample_node_ = owners
        self.grid_ = dataset.grid
        self.seed_ = seed
        self._keep(run(config, dataset, given), levels_of(dataset.grid, table))
        self._warn()
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.int32]:
        """(M,), the nearest centre of each sample as a node would have it: on the grid; the lowest index wins a tie."""
        return nearest(self._levels(X), self._centres)[0]

    def transform(self, X: ArrayLike) -> Floats:
        """(M, n_clusters), the distances of samples, on the grid, to the centres, in the samples' units."""
        return distances(self.grid_, self._levels(X), self._centres)

    def score(self, X: ArrayLike, y: Any = None) -> float:
        """The negative of what `inertia_` would be for X: the greater, the better."""
        return -float(nearest(self._levels(X), self._centres)[1].sum()) * self.grid_.unit**2

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags

    def _dataset(self, table: Floats, rows: dict[int, NDArray[np.intp]]) -> Dataset:
        names = getattr(self, "feature_names_in_", None)
        columns = [f"x{j}" for j in range(table.shape[1])] if names is None else [str(name) for name in names]
        try:
            made = from_values("X", columns, {node: table[own] for node, own in rows.items()})
        except DckaError as error:
            raise ParameterError(str(error)) from None
        for sentence in made.report.warnings:
            warnings.warn(sentence, GridWarning, stacklevel=3)
        return made

    def _keep(self, ended: Ended, levels: Floats) -> None:
        """What fitting leaves behind."""
        grid = self.grid_
        self._centres = ended.centres[0]
        self.labels_, best = nearest(levels, self._centres)
        self.inertia_ = float(best.sum()) * grid.unit**2
        self.node_centers_ = grid.to_units(ended.centres)
        self.cluster_centers_ = self.node_centers_[0]
        self.history_ = ended.steps
        self.n_iter_ = len(ended.steps)
        self.converged_ = ended.converged
        self.broadcasts_, self.bytes_ = int(ended.broadcasts.sum()), int(ended.bytes.sum())
        self.node_broadcasts_, self.node_bytes_ = ended.broadcasts, ended.bytes
        self.seeding_broadcasts_, self.seeding_bytes_ = ended.drawn
        self.run_record_ = ended.plan.record
        self._decided = ended.decided

    def _warn(self) -> None:
        if not self.converged_:
            warnings.warn(
                f"not converged after max_iter = {self.max_iter} outer steps",
                ConvergenceWarning,
                stacklevel=3,
            )
        if not self._decided:
            warnings.warn(
                f"nodes had not agreed to within tol = {self.tol:g} after max_slots = {self.max_slots} in some step: "
                "raise max_slots",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _levels(self, X: ArrayLike) -> Floats:
        check_is_fitted(self)
        return levels_of(self.grid_, validate_data(self, X, dtype=np.float64, reset=False))


def _owners(sample_node: ArrayLike | None, samples: int, ids: tuple[int, ...]) -> NDArray[np.int64]:
    """(M,), each sample's node. Raises ParameterError for another shape, and for an id that is no node's."""
    if sample_node is None:
        return np.array(ids, dtype=np.int64)[np.arange(samples) % len(ids)]
    owners = np.asarray(sample_node)
    if owners.shape != (samples,) or owners.dtype.kind not in "iu":
        raise ParameterError(
            f"sample_node has the shape {owners.shape}, {owners.dtype}: give the id of a node for each of the "
            f"{samples} samples"
        )
    strangers = np.setdiff1d(owners, ids)
    if len(strangers):
        raise ParameterError(
            f"sample_node has {strangers[0]}, which is no node: ids go from 1 to n_nodes = {len(ids)}"
        )
    return owners.astype(np.int64)
