"""`check`: the outcome of a run, judged."""

from dcka.check.gossip import check_gossip
from dcka.check.subject import bring_together
from dcka.check.tree import check_tree
from dcka.check.verdict import Findings, Verdict
from dcka.inject.dataset import Dataset
from dcka.runs.outcome import Outcome


def check(outcome: Outcome, dataset: Dataset) -> Verdict:
    """Whether the nodes came to what the reference says they have to.

    `tree`: every node's final centres, counts and SSD are the integer reference's, bit for bit. `gossip`: in each
    step every node put in the sums of its own readings and came to Σu/Σm within the tolerance, and the final SSD
    is CKA's. A run that did not finish, or is of another data set, fails. Whatever is wrong with an outcome is a
    reason in the verdict; nothing is raised.
    """
    found = Findings(outcome.kind)
    whole = bring_together(outcome, dataset, found)
    if whole is not None and dataset.grid.scale != "one":
        found.figures["scale"] = dataset.grid.scale
        found.hold(
            f"scale {dataset.grid.scale}: each column is measured by its width on the grid, so SSD and errors are in "
            "widths, and not in the units of the readings; centres are"
        )
    if whole is not None and whole.run.kind == "tree":
        check_tree(whole, found)
    elif whole is not None:
        check_gossip(whole, found)
    return found.verdict()
