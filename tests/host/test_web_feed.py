"""The feed: whoever was away ends with the same values as whoever was there, whenever he asks."""

import json

from hypothesis import given
from hypothesis import strategies as st

from dcka.web.feed import Feed, encoded

NAMES = st.sampled_from(["a", "b", "c/1", "c/2"])
CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("put"), NAMES, st.integers(0, 3)),
        st.tuples(st.just("drop"), NAMES, st.just(0)),
        st.tuples(st.just("all"), st.just("c/"), st.just(0)),
        st.tuples(st.just("ask"), st.integers(0, 2), st.just(0)),
    ),
    max_size=40,
)


def change(feed, what, name, value):
    if what == "put":
        feed.put(name, value)
    elif what == "drop":
        feed.drop(name)
    else:
        feed.drop_all(name)


class Reader:
    def __init__(self):
        self.seen, self.values = 0, {}

    def ask(self, feed):
        self.seen, values, gone = feed.since(self.seen)
        for name in json.loads(gone):
            self.values.pop(name, None)
        self.values.update(json.loads(values))


@given(CHANGES)
def test_readers_who_ask_at_other_times_end_with_the_same_values(changes):
    feed, readers = Feed(), [Reader(), Reader(), Reader()]
    for what, name, value in changes:
        if what == "ask":
            readers[name].ask(feed)
        else:
            change(feed, what, name, value)
    fresh = Reader()
    for reader in (*readers, fresh):
        reader.ask(feed)
    assert all(reader.values == fresh.values for reader in readers)


def test_what_stays_the_same_is_no_change_and_what_has_changed_comes_once():
    feed = Feed()
    feed.put("a", 1)
    feed.put("a", 1)
    assert feed.last == 1
    feed.put("b", 2)
    last, values, gone = feed.since(1)
    assert (last, json.loads(values), json.loads(gone)) == (2, {"b": 2}, [])
    assert json.loads(feed.since(2)[1]) == {}


def test_a_fresh_reader_is_not_told_of_what_has_gone():
    feed = Feed()
    feed.put("a", 1)
    feed.drop("a")
    assert [json.loads(text) for text in feed.since(0)[1:]] == [{}, []]
    assert json.loads(feed.since(1)[2]) == ["a"]


def test_numbers_that_browsers_do_not_know_are_null():
    assert json.loads(encoded({"a": [float("nan"), 1.5], "b": float("inf")})) == {"a": [None, 1.5], "b": None}
