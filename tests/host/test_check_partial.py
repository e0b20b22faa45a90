"""`check` of a run of `tree` that went on without some nodes: a replay by who was in each step, or FAIL."""

import copy
from dataclasses import replace

import pytest
from bus_connection import host
from checked_runs import failing, with_commit, with_report
from run_network import NODES, Story, ended, equipped, leaf_of, planned, will

from dcka.check import check
from dcka.check.subject import bring_together
from dcka.check.verdict import Findings
from dcka.cli import main
from dcka.config import State, template
from dcka.reference import tree_run
from dcka.runs.controller import run
from dcka.runs.outcome import decode_commit
from dcka_core.messages import FINAL

__all__ = ["host"]


@pytest.fixture
def partial(host):
    """(outcome, data set, root, who was missing) of a run from which a leaf goes after its first step."""
    data = equipped(host)
    made = planned(data)
    leaf, gone = leaf_of(made), []

    def at(kind_of_event, told):
        if ended(kind_of_event, told, 0) and not gone:
            gone.append(leaf)
            will(host, leaf)

    return run(host, made, on_event=Story(at)), data, made.root, leaf


def test_a_replay_with_those_who_were_there_is_the_same(partial):
    outcome, data, root, leaf = partial
    verdict = check(outcome, data)
    steps = len(outcome.steps[root])
    assert (verdict.word, verdict.passed, verdict.partial) == ("PARTIAL", False, True)
    assert verdict.figures["missing"] == [leaf]
    assert (verdict.figures["replay_identical"], verdict.figures["bit_identical"]) == (True, False)
    assert verdict.reasons == [
        f"node {leaf}: its readings are not in {steps - 1} of {steps} steps, and it gave no result",
        "a replay of the reference with each step's contributors gives the same bits",
        "3 of 4 nodes hold the replay's centres, counts and SSD, bit for bit",
        f"they converged after {steps} outer steps, as the replay does",
    ]
    assert verdict.figures["ssd"] == verdict.figures["reference_ssd"]
    assert (
        "float_ssd" not in verdict.figures
    )  # beside K-means on all readings, it would be beside another matter


def test_a_report_that_was_lost_is_named(partial):
    outcome, data, root, _ = partial
    kept = [report for report in outcome.steps[root] if report["step"] not in (1, 2)]
    words = failing(replace(outcome, steps={**outcome.steps, root: kept}), data)
    assert words == "no report came of steps 1, 2: without it nobody knows whose readings are in"
    assert check(replace(outcome, steps={}), data).figures["replay_identical"] is False


@pytest.mark.parametrize(
    ("step", "changes"),
    [
        (0, {"ssd": 1}),
        (2, {"ssd": 12345}),
        (0, {"missing": [1]}),
        (2, {"missing": None}),
        (2, {"missing": [3]}),
        (2, {"ssd": "12345"}),
        (2, {"missing": 4}),
        (2, {"missing": [1, 2, 3]}),
    ],
)
def test_a_report_that_is_not_of_what_was_done_fails(partial, step, changes):
    outcome, data, root, _ = partial
    words = failing(with_report(outcome, root, step, **changes), data)
    assert words.startswith(("no replay of the reference", f"no report came of step {step}"))


@pytest.mark.parametrize("name", ["centres", "counts", "ssd", "missing", "contributors", "step"])
@pytest.mark.parametrize("where", ["one", "all"])
def test_a_planted_result_fails(partial, where, name):
    """At one node it differs from the replay; at all of them no replay ends in it."""
    outcome, data, root, _ = partial
    spoilt = outcome
    for node in [root] if where == "one" else sorted(outcome.commits):
        held = decode_commit(outcome, node)
        value = getattr(held, name)
        changed = [value[0] + 1, *value[1:]] if isinstance(value, list) else value ^ 1
        spoilt = with_commit(spoilt, node, **{name: changed})
    words = failing(spoilt, data)
    assert "no replay" in words or f"node {root}: " in words or "no report came" in words


def chain_of(outcome, data, root):
    """(the run with its data, who was in each step as the root told)."""
    subject = bring_together(outcome, data, Findings("tree"))
    everyone = frozenset(outcome.members)
    return subject, [everyone - set(report.get("missing", ())) for report in outcome.steps[root]]


def test_an_end_before_the_end_fails(partial):
    """All nodes hold what a replay of two steps comes to, as final; but a run doesn't end there."""
    outcome, data, root, _ = partial
    subject, chain = chain_of(outcome, data, root)
    short = tree_run(**subject.start, contributors=chain[:2])
    assert not short.final
    early = outcome
    for node in outcome.commits:
        held = {"centres": short.centres.ravel().tolist(), "counts": short.counts.tolist(), "ssd": short.ssd}
        early = with_commit(early, node, step=2, flags=FINAL, **held)
    assert failing(early, data).startswith("no replay of the reference")


def told_by(outcome, node, step, **report):
    """The outcome with a report of a step by another root."""
    steps = copy.deepcopy(outcome.steps)
    whole = {"v": 1, "run": outcome.run, "node": node, "step": step, "flags": 0, **report}
    steps.setdefault(node, []).append(whole)
    return replace(outcome, steps=steps)


def test_two_roots_that_tell_of_one_step_are_tried_both(partial):
    """One of them committed for nobody else to hear: either word may be of the chain that went on."""
    outcome, data, root, leaf = partial
    other = next(node for node in NODES if node not in (root, leaf))
    reports = {report["step"]: report for report in outcome.steps[root]}
    for told in (
        {"ssd": 77, "missing": [other]},
        {"ssd": 77},
        {"ssd": reports[1]["ssd"], "missing": [other]},
    ):
        assert check(told_by(outcome, other, 1, **told), data).word == "PARTIAL"
    both = outcome
    for step in reports:
        both = told_by(both, other, step, ssd=reports[step]["ssd"] + 1, missing=[leaf])
        both = told_by(both, other, step, ssd=reports[step]["ssd"] + 2)
    assert check(both, data).figures["replay_identical"] is True


def test_a_second_word_that_is_right_in_itself_is_left_again(partial):
    """The dead end has the right SSD for its contributors: only the next step shows that nobody went on from it."""
    outcome, data, root, _ = partial
    subject, chain = chain_of(outcome, data, root)
    dead_end = tree_run(**subject.start, contributors=[*chain[:2], frozenset(outcome.members)])
    assert dead_end.ssd != outcome.steps[root][2]["ssd"]
    told = told_by(outcome, root, 2, ssd=dead_end.ssd)
    assert check(told, data).figures["replay_identical"] is True


def test_the_verb_says_partial_and_exits_0_only_where_that_is_allowed(partial, tmp_path, capsys):
    outcome, data, root, leaf = partial
    (tmp_path / "network.toml").write_text(template({"network": {"name": "lab", "nodes": list(NODES)}}))
    state = State(tmp_path / ".dcka")
    outcome.save(state)
    data.save(state.folder)
    call = ["check", "--network", str(tmp_path / "network.toml")]
    assert main(call) == 1
    shown = capsys.readouterr().out
    assert shown.startswith("PARTIAL: run 1, tree, 4 nodes\n")
    assert f"  node {leaf}: its readings are not in " in shown
    assert main([*call, "--allow-partial"]) == 0
    with_commit(outcome, root, ssd=1).save(state)
    assert main([*call, "--allow-partial"]) == 1
    assert capsys.readouterr().out.splitlines()[-2].startswith("FAIL")
