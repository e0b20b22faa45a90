"""Radio graphs from files: what is a link, what is dropped and said, what is refused and where."""

import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcka.inject.errors import DataError
from dcka.schedule import ScheduleError, read_edges, read_strengths
from dcka.schedule.radio import heard_both_ways
from dcka.schedule.ulb import FILE, find, radio, reports
from dcka.topology import TopologyError

LAW = settings(deadline=None, derandomize=True, max_examples=60)


@pytest.fixture
def file(tmp_path):
    """Writes a text to a file; its path."""

    def write(text, name="links.csv"):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


@pytest.mark.parametrize(
    "text", ["a,b\n1,2\n3,2\n", "1,2\n3,2\n", "a;b\r\n1;2\r\n3;2\r\n", "1 2\n3 2\n", "a\tb\n1\t2\n3\t2"]
)
def test_links_with_and_without_a_header(file, text):
    found = read_edges(file(text))
    assert (found.ids, found.links, found.notes) == ((1, 2, 3), ((1, 2), (2, 3)), ())


def test_nodes_without_a_link_are_found_where_the_nodes_are_said(file):
    with pytest.raises(
        TopologyError, match=r"\{1, 2\} and \{3\} never hear each other; links.csv has to link them"
    ):
        read_edges(file("1,2\n"), [1, 2, 3]).graph()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n1,2\n2,2\n", "links.csv, line 3: node 2 is linked to itself"),
        ("a,b\n1,2\n\n2,1\n", "links.csv, line 4: the link 2-1 is on line 2 already"),
        ("a,b\n1,0\n", "line 2: '0' is no node id"),
        ("a,b\n1,65536\n", "line 2: '65536' is no node id"),
        ("a,b\n1,x\n2,3\n", "line 2: 'x' is no node id"),
        ("a,b\n1,2.0\n", "line 2: '2.0' is no node id"),
        ("a,b\n1,9\n", r"line 2: there is no node 9; the nodes are \{1-5\}"),
        ("a,b,rssi\n1,2,-70\n", "3 columns, and a list of links has two, a and b; .* pass it as --rssi"),
        ("1\n2\n", "1 columns, and a list of links has two"),
    ],
)
def test_what_is_no_list_of_links_is_refused_with_its_line(file, text, words):
    with pytest.raises(ScheduleError, match=words):
        read_edges(file(text), range(1, 6) if "9" in text else None)


@pytest.mark.parametrize("text", ["", "\n\n", "a,b\n", "a,b\n1,2\n3\n"])
def test_empty_and_ragged_files_are_refused(file, text):
    with pytest.raises(DataError, match=r"links\.csv"):
        read_edges(file(text))


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(DataError, match="nothing"):
        read_edges(tmp_path / "nothing.csv")


def test_a_link_is_heard_in_both_directions(file):
    table = file("hears,heard,rssi\n1,2,-60\n2,1,-62\n2,3,-70\n3,2,-91\n3,1,-80\n4,2,-50\n2,4,-50\n")
    found = read_strengths(table)
    assert found.links == ((1, 2), (2, 3), (2, 4))
    assert found.notes == ("1 pair dropped, heard well enough in one direction only: 3 hears 1",)
    found = read_strengths(table, -75)
    assert found.links == ((1, 2), (2, 4))
    assert found.notes == (
        "1 pair below -75 dBm dropped: 1-3",
        "1 pair dropped, heard well enough in one direction only: 2 hears 3",
    )
    assert found.ids == (1, 2, 3, 4)


def test_of_many_readings_of_a_pair_the_median_counts(file):
    table = file("1,2,-60\n1,2,-90\n1,2,-61\n2,1,-60\n", "heard.csv")
    assert read_strengths(table, -65).links == ((1, 2),)
    assert read_strengths(table, -60.5).links == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n1,2\n", "2 columns, and it takes three: a, b and rssi"),
        ("rssi,a,b\n-70,1,2\n", "rssi has to be the third column"),
        ("a,b,rssi\n1,2,strong\n1,3,-4\n", "line 2: rssi 'strong' is no signal strength"),
        ("a,b,rssi\n1,2,-700\n", "line 2: rssi '-700' is no signal strength"),
        ("a,b,rssi\n1,1,-70\n", "line 2: node 1 is linked to itself"),
    ],
)
def test_what_is_no_table_of_strengths_is_refused(file, text, words):
    with pytest.raises(ScheduleError, match=words):
        read_strengths(file(text))


@LAW
@given(
    st.dictionaries(
        st.tuples(st.integers(1, 6), st.integers(1, 6)).filter(lambda pair: pair[0] != pair[1]),
        st.lists(st.integers(-95, -30).map(float), min_size=1, max_size=4),
    ),
    st.integers(-95, -30),
)
def test_every_pair_is_a_link_or_said_to_be_dropped(heard, least):
    found = heard_both_ways(heard, range(1, 7), float(least), "a table")
    turned = heard_both_ways(
        {(b, a): value for (a, b), value in heard.items()}, range(1, 7), float(least), ""
    )
    assert found.links == turned.links
    pairs = {(min(pair), max(pair)) for pair in heard}
    dropped = sum(int(note.split()[0]) for note in found.notes)
    assert len(found.links) + dropped == len(pairs)


def test_phases_share_the_links_out(file):
    found = read_edges(file("1,2\n2,3\n3,4\n"))
    assert found.graph(2).phases == (((1, 2), (3, 4)), ((2, 3),))
    with pytest.raises(ScheduleError, match="--split 4 is more than the 3 links of"):
        found.graph(4)


def test_the_measured_radio_is_one_part_and_half_of_the_pairs(shared_data):
    """Its strengths are the CC2420's: from its sensitivity upwards, and never above a sender's 0 dBm."""
    found = radio(shared_data)
    assert found.ids == tuple(range(1, 21))
    assert len(found.graph().parts()) == 1
    assert 0.4 < len(found.links) / 190 < 0.7
    strengths = [strength for _, _, _, strength in reports(shared_data / FILE)]
    assert (min(strengths), max(strengths)) == (-96.0, -32.0)
    assert radio(shared_data, -200).notes == ()


def test_without_the_measured_radio_a_sentence_says_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        ScheduleError, match=f"{FILE} is not in data and ../shared/data; the measured radio does not"
    ):
        find()
    with pytest.raises(ScheduleError, match="is not in elsewhere"):
        find(tmp_path.relative_to(tmp_path) / "elsewhere")


def test_another_file_of_its_name_is_refused(tmp_path):
    (tmp_path / FILE).write_bytes(gzip.compress(b"1164976568218 0 0 2 3 -48 188\nno numbers\n"))
    with pytest.raises(ScheduleError, match="after line 1: not the file it should be"):
        radio(tmp_path)
    (tmp_path / FILE).write_bytes(b"no gzip")
    with pytest.raises(ScheduleError, match="after line 0"):
        radio(tmp_path)
