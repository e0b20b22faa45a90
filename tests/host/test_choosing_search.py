"""A search for K over the core's nodes in memory: it finds the clouds, keeps all, and `check` believes nothing else."""

import json
from dataclasses import replace

import pytest
from bus_connection import host
from run_network import NODES, Story, configuration, equipped, will

from dcka.check import Chosen, check, check_score
from dcka.choosing.choice import Choice, ChoiceError, file_of
from dcka.choosing.search import NotChosen, Search
from dcka.choosing.wish import Wish
from dcka.choosing.words import table_of
from dcka.config import State
from dcka.errors import UsageError
from dcka.mqtt.readiness import NotReady
from dcka.plots.choice import write_report
from dcka.runs.outcome import Outcome, decode_commit
from dcka.runs.plan import PlanError
from dcka.runs.summary import summary
from dcka_core.messages import Commit
from dcka_core.record import read_run

__all__ = ["host"]


@pytest.fixture
def state(tmp_path):
    return State(tmp_path / "state")


def search(host, state, data, wish=None, story=None, **settings):
    """A search of the clouds; `settings` of [run], or of Search."""
    own = {
        name: settings.pop(name)
        for name in ("max_message", "partial", "distinct", "ready_s")
        if name in settings
    }
    own = {"max_message": dict.fromkeys(NODES, 4096), **own}
    made = Search(
        host,
        configuration(**settings),
        data.record(),
        state.last_run() + 1,
        wish or Wish(2, 4, 2, gap_sets=0),
        state,
        on_event=story,
        **own,
    )
    found = made.run()
    found.outcome.save(state)
    found.choice.save(state)
    return found


def verdict(state, data, number):
    return check(Outcome.load(state, number), data, chosen=Chosen.load(state, number))


@pytest.mark.parametrize(
    ("init", "schedule"), [("kmeans++", "tree"), ("local", "tree"), ("snake", "tree"), ("kmeans++", "gossip")]
)
def test_three_clouds_are_found_and_checked(host, state, init, schedule):
    data = equipped(host)
    story = Story()
    found = search(host, state, data, story=story, init=init, schedule=schedule)
    assert found.choice.k == 3 and found.choice.rule == "ch"
    assert [told["k"] for told in story.of("scored")] == [2, 3, 4]
    assert story.of("chosen") == [{"k": 3}]
    # Seedings, clusterings, scores, and the last one, which the nodes hold.
    seedings = 2 if init == "kmeans++" else 0
    assert found.outcome.run == seedings + 3 * (2 + 1) + (2 if seedings else 1)
    assert state.last_run() == found.outcome.run
    held = [json.loads(host.bus.retained[f"dcka/lab/status/{node}"])["run"] for node in NODES]
    assert held == [found.outcome.run] * len(NODES)
    trial = next(trial for trial in found.choice.trials if trial.k == 3)
    before = decode_commit(Outcome.load(state, trial.run), 1)
    assert decode_commit(found.outcome, 1).centres == before.centres
    assert all("the nodes drew 3 starting centres" in note for note in found.notes)
    judged = verdict(state, data, found.outcome.run)
    assert judged.passed, judged.reasons
    assert judged.figures["choice"]["verdict"] == "PASS"
    assert any("K = 3 is what the Calinski–Harabasz takes of 2 to 4" in reason for reason in judged.reasons)
    for trial in found.choice.trials:
        assert check(Outcome.load(state, trial.run), data).passed
        scored = check_score(Outcome.load(state, trial.score), data)
        assert scored.passed and scored.figures["k"] == trial.k


def test_the_best_of_the_starts_counts(host, state):
    """Of each K the SSD is the least of single runs from its seeds."""
    data = equipped(host)
    found = search(host, state, data, Wish(2, 4, 3, gap_sets=0), init="shared")
    alone = Wish(2, 4, 1, gap_sets=0)
    singles = {seed: search(host, state, data, alone, init="shared", seed=seed) for seed in range(4, 7)}
    for at, trial in enumerate(found.choice.trials):
        ssds = {seed: one.choice.curves[at].ssd for seed, one in singles.items()}
        assert found.choice.curves[at].ssd == min(ssds.values())
        assert ssds[trial.seed] == min(ssds.values())


def test_other_rules_take_other_indices(host, state):
    data = equipped(host)
    for rule, key in (("bic", "bic"), ("silhouette", "silhouette")):
        found = search(host, state, data, Wish(2, 4, 1, rule, 0), init="snake")
        best = max(found.choice.curves, key=lambda point: getattr(point, key))
        assert (found.choice.k, found.choice.rule) == (best.k, rule)
        assert verdict(state, data, found.outcome.run).passed


def test_a_choice_that_was_tampered_with_fails(host, state):
    data = equipped(host)
    found = search(host, state, data, init="kmeans++")
    number, choice = found.outcome.run, found.choice

    def failing(changed=None, outcomes=None):
        chosen = Chosen.load(state, number)
        chosen = Chosen(changed or chosen.choice, {**chosen.outcomes, **(outcomes or {})})
        judged = check(found.outcome, data, chosen=chosen)
        assert judged.word == "FAIL" and judged.figures["choice"]["verdict"] == "FAIL"
        return "\n".join(judged.reasons)

    assert "ch takes K = 3 of these curves, and the choice says 4" in failing(replace(choice, k=4))
    assert "bic takes" not in "".join(verdict(state, data, number).reasons)
    curve = replace(choice.curves[0], silhouette=0.99)
    assert "K = 2: the curves say" in failing(replace(choice, curves=(curve, *choice.curves[1:])))
    other = replace(choice.trials[0], run=choice.trials[1].run)
    assert "scored other centres" in failing(replace(choice, trials=(other, *choice.trials[1:])))
    lost = replace(choice.trials[0], score=999)
    assert "is not kept" in failing(replace(choice, trials=(lost, *choice.trials[1:])))
    score = Outcome.load(state, choice.trials[0].score)
    for name, value, words in (
        ("ssd", 7, "SSD = 7"),
        ("counts", None, "counts ="),
        ("centres", None, "silhouette ="),
    ):
        assert words in failing(outcomes={score.run: changed_commit(score, name, value)})
    for name in ("silhouette", "bic", "calinski_harabasz"):
        results = {**score.results, 2: {**score.results[2], name: None}}
        assert f"node 2: it tells {name} = None" in "\n".join(
            check_score(replace(score, results=results), data).reasons
        )


def changed_commit(outcome, name, value):
    """The outcome with another number in the commit of node 1."""
    commit: Commit = decode_commit(outcome, 1)
    if value is None:
        numbers = list(getattr(commit, name))
        numbers[6 if name == "centres" else 0] += 1
        value = numbers
    setattr(commit, name, value)
    return replace(
        outcome, commits={**outcome.commits, 1: bytes(commit.encode(read_run(outcome.record))).hex()}
    )


def test_what_is_kept_comes_back_and_what_is_broken_is_said(host, state):
    data = equipped(host)
    choice = search(host, state, data, init="snake").choice
    assert Choice.load(state, choice.run) == choice
    assert Choice.load(state, choice.run - 1) is None
    file = file_of(state, choice.run)
    for text in ("{}", '{"v": 2}', "[]", json.dumps({**json.loads(file.read_text()), "low": 3})):
        file.write_text(text)
        with pytest.raises(ChoiceError, match="holds no choice of K"):
            Choice.load(state, choice.run)


def test_a_k_or_a_message_that_cannot_be_is_refused_before_anything_is_sent(host, state):
    data = equipped(host)
    for settings, error, words in (
        (
            {"wish": Wish(2, 200, gap_sets=0)},
            UsageError,
            "--k-range 2..200 goes beyond the 150 points of clouds",
        ),
        ({"distinct": 3}, UsageError, "goes beyond the 3 distinct points"),
        ({"max_message": {3: 100}}, PlanError, "node 3 takes 100"),
    ):
        with pytest.raises(error, match=words):
            search(host, state, data, init="snake", **settings)
    assert host.sent == []


def test_a_node_that_goes_in_mid_search(host, state):
    data = equipped(host)
    dead = []

    def kill(kind, told):
        if kind == "trying" and told["k"] == 3 and not dead:
            dead.append(2)
            will(host, 2)

    with pytest.raises(Exception, match="node 2 of network lab is not online"):
        search(host, state, data, story=Story(kill), init="snake")


def test_a_run_that_goes_on_without_a_node(host, state):
    """Unless it was allowed it is the end, and what it came to is kept."""
    data = equipped(host)

    def kill(kind, told):
        if kind == "step" and told["run"] == 2 and 4 in host.bus.nodes:
            will(host, 4)

    with pytest.raises(NotChosen, match="run 2 of the search for K went on without node 4"):
        search(host, state, data, story=Story(kill), init="snake")
    assert Outcome.load(state, 2).missing == [4]


def test_who_is_away_between_two_runs_is_waited_for_as_long_as_was_asked(host, state):
    data = equipped(host)

    def kill(kind, told):
        if kind == "scored" and told["k"] == 2:
            will(host, 4)

    with pytest.raises(NotReady, match=r"^node 4 of network lab is not online at .*, waited 0\.2 s"):
        search(host, state, data, story=Story(kill), init="snake", ready_s=0.2)


def test_table_and_report_mark_what_was_taken(host, state, tmp_path):
    data = equipped(host)
    found = search(host, state, data, init="kmeans++")
    gaps = tuple(replace(point, gap=0.1 * point.k, gap_se=0.01) for point in found.choice.curves)
    for choice, indices in ((found.choice, 3), (replace(found.choice, curves=gaps, gap_sets=20), 4)):
        table = table_of(choice)
        assert [line[0] for line in table[1:4]] == [" ", ">", " "]
        assert table[-1].startswith("K = 3: the greatest Calinski–Harabasz of K = 2 to 4")
        folder = tmp_path / str(indices)
        folder.mkdir()
        file = write_report(choice, "clouds", summary(found.outcome, data.record()), folder)
        page = file.read_text()
        assert page.startswith("# clouds: K = 3\n") and "| **3** |" in page
        assert ("gap statistic, with 20 reference sets" in page) == (indices == 4)
        assert sorted(one.name for one in folder.iterdir()) == [
            "curves.csv",
            "curves.png",
            "curves.svg",
            "report.md",
        ]
        picture = (folder / "curves.svg").read_bytes()
        write_report(choice, "clouds", summary(found.outcome, data.record()), folder)
        assert (folder / "curves.svg").read_bytes() == picture
        rows = (folder / "curves.csv").read_text().splitlines()
        assert rows[0].startswith("k,ssd,calinski_harabasz,bic,silhouette,gap,gap_se,seed,run,score")
        assert len(rows) == 4
