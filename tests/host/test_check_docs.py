"""docs/checking.md names every key that the verbs print, and no figure that they do not."""

import re
from pathlib import Path

from checked_runs import run

from dcka.check import check
from dcka.datasets import gaussians
from dcka.demo import SCENARIOS, Act, Report, Settings
from dcka.runs.summary import summary
from dcka.topology import Shape, named

PAGE = Path(__file__).resolve().parents[2] / "docs" / "checking.md"


def section(title: str) -> set[str]:
    """The words in backticks of a section."""
    text = PAGE.read_text("utf-8")
    part = re.search(rf"^## {re.escape(title)}$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    return set(re.findall(r"`([a-z0-9_]+)`", part[1]))


def test_the_keys_of_check_and_demo_are_on_the_page():
    dataset = gaussians(1, per_gaussian=5)
    graph = named(dataset.node_ids, Shape("experiment1"))
    acts = {}
    for kind in ("gossip", "tree"):
        outcome = run(dataset, graph, kind, k=4)
        for result in outcome.results.values():
            result.setdefault("heap", 1)
        acts[kind] = Act(outcome, check(outcome, dataset), summary(outcome, dataset.record()))
    figures = acts["gossip"].verdict.figures.keys() | acts["tree"].verdict.figures.keys()
    printed = {"verdict", "kind", "reasons"} | figures
    assert section("The object of `--json`") - {"tree", "gossip", "null"} == printed
    record = Report(Settings(SCENARIOS["gaussians"]), 5, 4, "local", 1, acts).record()
    in_slots = {"awake_share"}
    assert (
        section("The demonstration") - {"tree", "null"} == record.keys() | record["gossip"].keys() | in_slots
    )
