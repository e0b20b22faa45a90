"""A simulated week, in short: what it has to show, and that it finds what is wrong."""

import json

import pytest

from dcka.emulation.air import Faults
from dcka.week import WeekError, WeekSettings, run_week
from dcka.week.failures import failures
from dcka.week.feed import generated
from dcka.week.report import text
from dcka_core import sums
from dcka_core.segments import Segments

# Two thirds of a day: 15 clusterings of 6 nodes take some two seconds.
SHORT = {"days": 0.65, "source": "generated", "nodes": 6, "window_s": 6 * 3600}


def test_without_failures_all_clusterings_are_exact_and_everybody_is_in_them():
    record = run_week(WeekSettings(**SHORT, failing=False))
    assert record["clusterings"] == record["exact"] == 15
    assert (record["partial"], record["unfinished"], record["results_wrong"], record["short_of_nodes"]) == (
        0,
    ) * 4
    assert record["readings_lost"] == record["readings_cut"] == record["crashes"] == 0
    # Every ten minutes from when a node knows the time.
    assert 6 * 92 <= record["readings_taken"] <= 6 * 94
    assert record["ok"] and not record["failures"] and not record["dead"]
    assert 0 < record["mean_node_mah"] <= record["worst_node_mah"] < 20
    assert "15 exact" in text(record)


def test_with_failures_and_a_bad_radio_nothing_is_wrong_and_nothing_lost():
    settings = WeekSettings(
        **{**SHORT, "days": 1.0, "nodes": 8},
        seed=5,
        faults=Faults(loss=0.15, duplicate=0.1, reorder=0.1),
    )
    record = run_week(settings)
    assert record["results_wrong"] == record["readings_lost"] == record["crashes"] == 0 and record["ok"]
    assert sum(record["failures"].values()) >= 5 and record["readings_cut"] > 0
    assert record["exact"] + record["partial"] + record["unfinished"] == record["clusterings"]
    assert record["exact"] > record["clusterings"] // 2
    assert record["radio"]["lost"] > 0 and record["radio"]["doubled"] > 0


def test_the_same_seed_gives_the_same_report_byte_for_byte_and_another_another():
    settings = WeekSettings(**{**SHORT, "days": 0.25}, faults=Faults(loss=0.1))
    first, again = (json.dumps(run_week(settings)) for _ in range(2))
    assert first == again
    other = json.dumps(run_week(WeekSettings(**{**SHORT, "days": 0.25}, faults=Faults(loss=0.1), seed=2)))
    assert first != other


class Forgetful(Segments):
    """A store that says of one reading in forty that it has it."""

    taken = 0

    def append(self, time_s, values):
        Forgetful.taken += 1
        if Forgetful.taken % 40:
            super().append(time_s, values)


def test_a_store_that_loses_a_record_is_found():
    record = run_week(WeekSettings(**{**SHORT, "days": 0.4}, failing=False), segments=Forgetful)
    assert record["readings_lost"] > 0 and not record["ok"]
    assert record["results_wrong"] > 0


def test_a_core_that_drops_a_sum_is_found(monkeypatch):
    total = sums.Sums._total

    def short(self):
        found, squares = total(self)
        # A root that lost a count would be refused by its neighbours; a coordinate is nobody's to check but ours.
        if not self.parent and found[0]:
            found[1] -= min(found[1], 40 * found[0])
        return found, squares

    monkeypatch.setattr(sums.Sums, "_total", short)
    record = run_week(WeekSettings(**{**SHORT, "days": 0.25}, failing=False))
    assert record["results_wrong"] > 0 and not record["ok"]
    assert record["wrong"]


def test_ctrl_c_ends_it_with_what_was_had():
    def until_noon(now_s):
        if now_s > 8_000:
            raise KeyboardInterrupt

    record = run_week(WeekSettings(**SHORT, failing=False), on_advance=until_noon)
    assert record["interrupted"] and record["clusterings"] == record["exact"] == 2
    # Up to the last event before that.
    assert 7_201 / 86_400 < record["days"] <= 8_000 / 86_400
    assert record["readings_lost"] == 0


def test_a_sound_version_comes_to_all_one_first_and_a_broken_one_to_nobody():
    record = run_week(WeekSettings(**{**SHORT, "days": 0.5}, failing=False))
    assert (record["updates_done"], record["rollbacks"], record["crashes"]) == (6, 1, 0)
    sound, broken = record["updates"]
    assert (sound["behaviour"], sound["joined"], sound["stopped"]) == ("sound", 6, "")
    assert (broken["behaviour"], broken["rolled back"], broken["held"]) == ("crashes", 1, 5)
    assert "node 1 went back" in broken["stopped"]
    assert record["exact"] == record["clusterings"] == 11 and record["readings_lost"] == 0


def test_failures_are_the_seeds_and_of_every_kind():
    nodes = tuple(range(1, 21))
    found = failures(nodes, 7, 3)
    assert found == failures(nodes, 7, 3) != failures(nodes, 7, 4)
    assert [one.at_s for one in found] == sorted(one.at_s for one in found)
    kinds = [one.kind for one in found]
    assert len(set(kinds)) == 5 and kinds.count("death") == 2
    assert all(one.at_s < 7 * 86_400 for one in found)


def test_a_generated_network_is_connected_and_its_readings_lie_within_its_range():
    feed = generated(12, 4)
    assert len(feed.links.parts()) == 1
    for node in feed.ids:
        for hour in range(0, 80, 7):
            reading = feed.reading(node, hour * 3600.0)
            assert all(
                low <= one <= high for low, one, high in zip(feed.low, reading, feed.high, strict=True)
            )
            assert reading == feed.reading(node, (hour + 24) * 3600.0)
    for a, b in feed.links.phases[0]:
        assert 0 <= feed.loss(a, b, 5e4) < 0.25


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"source": "mars"}, "mars"),
        ({"days": 0}, "--days"),
        ({"days": 0.01}, "too short"),
        ({"nodes": 1}, "--nodes"),
        ({"source": "ulb", "nodes": 5}, "--nodes"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(settings, word):
    with pytest.raises(WeekError, match=word):
        WeekSettings(**settings)
