"""scikit-learn's own checks of an estimator: all of them, and none is expected to fail.

What scikit-learn leaves out by itself: `check_array_api_input`, unless SCIPY_ARRAY_API is set, for numpy's arrays are
what the nodes' core is fed from. What the tags say: no sparse tables, no NaN, nothing but float64 out of `transform`.
There is no `sample_weight`, so its checks do not apply (docs/python.md says why).
"""

import pytest

pytest.importorskip("sklearn")

from sklearn.utils.estimator_checks import parametrize_with_checks

from dcka.estimator import DCKA

EXPECTED_FAILURES: dict[str, str] = {}

ESTIMATORS = [
    DCKA(random_state=0),
    DCKA(consensus="gossip", n_nodes=3, topology={"kind": "ring", "split": 2}, random_state=0),
]


# The checks give it five outer steps, and it says so where these do not do.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=lambda estimator: EXPECTED_FAILURES)
def test_scikit_learns_checks(estimator, check):
    check(estimator)
