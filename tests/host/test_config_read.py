"""network.toml: what it means, and that every refusal names the place, the value and the way out."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcka.broker import BrokerUrl
from dcka.config import find_network_file, from_mapping, load, parse
from dcka.config.sections import SECTIONS, keys_of
from dcka.errors import UsageError

LAW = settings(deadline=None, derandomize=True)


def refusal(text):
    with pytest.raises(UsageError) as caught:
        parse(text)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_an_empty_file_means_the_defaults():
    config = parse("")
    assert config.network.name == "sensors"
    assert config.ids == (1, 2, 3, 4, 5)
    assert config.network.broker is None
    assert (config.run.schedule, config.run.k, config.run.init, config.run.seed) == ("tree", 9, "local", 1)
    assert (config.run.max_steps, config.run.tolerance) == (100, 1e-4)
    assert (config.run.slots, config.run.max_slots, config.run.patience_ms) == (0, 200, 500)
    assert len(config.graph.phases) == 2
    assert len(config.graph.phases[0] + config.graph.phases[1]) == 7
    assert (config.data.columns, config.data.missing, config.data.missing_marker) == ((), "refuse", ())
    assert (config.data.split, config.data.split_by) == ("round-robin", None)
    assert (config.emulation.runtime, config.emulation.heap) == ("micropython", 128 * 1024)


def test_a_whole_file_is_read():
    config = parse(
        """
        [network]
        name = "greenhouse-2"
        nodes = [12, 3, 7]
        broker = "mqtt://ann@10.0.0.7"
        [run]
        schedule = "gossip"
        k = 4
        init = "shared"
        seed = 9223372036854775807
        tolerance = 0.001
        [topology]
        phases = [[[3, 7]], [[7, 12]]]
        root = 7
        [data]
        columns = ["humidity", "temperature"]
        missing = "drop"
        missing_marker = ["-200"]
        split_by = "mote"
        [emulation]
        runtime = "cpython"
        heap = "112k"
        """
    )
    assert config.ids == (3, 7, 12)
    assert config.network.broker == BrokerUrl("10.0.0.7", 1883, "ann")
    assert config.graph.phases == (((3, 7),), ((7, 12),))
    assert config.topology.root == 7
    assert config.run.seed == 2**63 - 1
    assert config.data.columns == ("humidity", "temperature")
    assert config.data.split_by == "mote"
    assert config.emulation.heap == 112 * 1024


def test_a_broker_of_several_addresses_is_a_list_or_a_text_with_commas():
    several = parse('[network]\nbroker = ["mqtt://10.0.0.7", "mqtt://10.0.0.8:1884"]').network.broker
    assert str(several) == "mqtt://10.0.0.7:1883,mqtt://10.0.0.8:1884"
    assert several == parse(f'[network]\nbroker = "{several}"').network.broker


def test_a_brokers_password_is_in_the_environment_and_nowhere_shown(monkeypatch):
    monkeypatch.setenv("DCKA_BROKER_PASSWORD", "hunter-2")
    broker = parse('[network]\nbroker = "mqtt://ann@[::1]:1884"').network.broker
    assert (broker.host, broker.port, broker.password) == ("::1", 1884, "hunter-2")
    assert str(broker) == "mqtt://ann@[::1]:1884"
    assert "hunter-2" not in repr(broker)


BAD_VALUES = [
    ("network", 'name = "a b"', ['"a b"', "letters"]),
    ("network", "name = 5", ["5", "letters"]),
    ("network", "nodes = 0", ["0", "1 to 65535", "list"]),
    ("network", "nodes = 65536", ["65536", "1 to 65535"]),
    ("network", "nodes = true", ["true", "1 to 65535"]),
    ("network", "nodes = [1, 2, 2]", ["node 2", "twice"]),
    ("network", "nodes = [0]", ["id 0", "1 to 65535"]),
    ("network", 'nodes = ["a"]', ['"a"', "whole numbers"]),
    ("network", "nodes = []", ["no nodes"]),
    ("network", "broker = 5", ["5", "embedded", "mqtt://"]),
    ("network", "broker = []", ["embedded", "a list"]),
    ("network", 'broker = ["mqtt://a", "mqtts://b"]', ["mqtt://a", "or none"]),
    ("network", 'broker = ["mqtt://a", "embedded"]', ["embedded", "mqtt://"]),
    ("network", 'broker = "http://x"', ["'http://x'", "embedded", "mqtt://"]),
    ("network", 'broker = "localhost:1883"', ["'localhost:1883'", "mqtt://localhost:1883"]),
    ("network", 'broker = "mqtt://"', ["'mqtt://'", "host"]),
    ("network", 'broker = "mqtt://h:0"', ["mqtt://h:0", "1 to 65535"]),
    ("network", 'broker = "mqtt://h:70000"', ["mqtt://h:70000", "1 to 65535"]),
    ("network", 'broker = "mqtt://h:x"', ["mqtt://h:x", "1 to 65535"]),
    ("network", 'broker = "mqtt://[::1"', ["mqtt://[::1", "URL"]),
    ("network", 'broker = "mqtt://ann:pw@h"', ["a password", "DCKA_BROKER_PASSWORD"]),
    ("network", 'broker = "mqtt://h/topic"', ["mqtt://h/topic", "after the port"]),
    ("run", 'schedule = "pairs"', ['"pairs"', '"tree" or "gossip"']),
    ("run", 'schedule = "tre"', ['"tre"', 'did you mean "tree"']),
    ("run", "k = 0", ["0", "1 to 4096"]),
    ("run", 'k = "9"', ['"9"', "whole number"]),
    ("run", "k = 9.0", ["9.0", "whole number"]),
    ("run", "k = true", ["true", "whole number"]),
    ("run", 'init = "given"', ['"given"', '"local", "sorted", "snake", "shared", "partition" or "kmeans++"']),
    ("run", "seed = -1", ["-1", "0 to 9223372036854775807"]),
    ("run", "seed = 9223372036854775808", ["9223372036854775808", "0 to 9223372036854775807"]),
    ("run", "max_steps = 0", ["0", "1 to 1000000"]),
    ("run", "tolerance = 0", ["0", "1e-07 to 0.5", "range of the readings"]),
    ("run", "tolerance = nan", ["nan", "1e-07 to 0.5"]),
    ("run", "tolerance = inf", ["inf", "1e-07 to 0.5"]),
    ("run", 'tolerance = "small"', ['"small"', "number"]),
    ("run", "slots = -2", ["-2", "0 to 1000000"]),
    ("run", "slots = 201", ["201", "max_slots = 200"]),
    ("run", "max_slots = 0", ["0", "1 to 1000000"]),
    ("run", "patience_ms = 5", ["5", "10 to 600000"]),
    (
        "run",
        "slot_ms = 39",
        ["39", "0 (nodes stay awake) or 40 to 600000", "4 times what a message may be late"],
    ),
    ("topology", 'kind = "rign"', ['"rign"', 'did you mean "ring"', "experiment1"]),
    ("topology", "phases = 5", ["5", "[[[1, 2], [3, 4]], [[2, 3]]]"]),
    ("topology", "phases = []", ["[]", "[[[1, 2], [3, 4]], [[2, 3]]]"]),
    ("topology", "phases = [[1, 2], [2, 3]]", ["bracket", "[[[1, 2], [2, 3]]]"]),
    ("topology", "phases = [5]", ["phase 0", "5", "[[1, 2]]"]),
    ("topology", "phases = [[[1, 2, 3]]]", ["phase 0", "[1, 2, 3]", "two node ids"]),
    ("topology", 'phases = [[["a", 2]]]', ["phase 0", '["a", 2]', "two node ids"]),
    ("topology", "phases = [[[1, 2], [2, 9]]]", ["2-9", "no node 9"]),
    ("topology", "phases = [[[1, 2], [1, 3]], [[4, 5]]]", ["{1, 2, 3} and {4, 5}", "jointly connected"]),
    ("topology", "split = 0", ["0", "1 to 64"]),
    ("topology", "root = 9", ["9", "{1-5}"]),
    ("topology", "radius = true", ["true", "0.001 to 1.5"]),
    ("topology", "radius = 2", ["2", "0.001 to 1.5"]),
    ("data", 'columns = "a"', ['"a"', "list"]),
    ("data", 'columns = ["a", ""]', ['""', "column names"]),
    ("data", 'columns = ["a", "a"]', ['"a"', "twice"]),
    ("data", 'missing = "ignore"', ['"ignore"', '"refuse" or "drop"']),
    ("data", "missing_marker = [-200]", ["-200", '["-200", "n/a"]']),
    ("data", 'split = "random"', ['"random"', '"round-robin" or "contiguous"']),
    ("data", 'split_by = " "', ['" "', "column"]),
    ("data", 'range = "minmx"', ['"minmx"', 'did you mean "minmax"', '"host"']),
    ("data", "tail = 0", ["0", "1e-06 to 0.49"]),
    ("data", "tail = 0.5", ["0.5", "1e-06 to 0.49"]),
    ("data", 'scale = "z"', ['"z"', '"one", "minmax" or "std"']),
    ("emulation", 'runtime = "pypy"', ['"pypy"', '"micropython"', '"cpython"']),
    ("emulation", 'heap = "16K"', ['"16K"', '"32K" to "1024M"']),
    ("emulation", 'heap = "big"', ['"big"', '"32K" to "1024M"']),
    ("emulation", "heap = 4096", ["4096", '"32K" to "1024M"']),
    ("network", "ca = 5", ["5", "the name of a file"]),
    ("network", 'ca = ""', ['""', "the name of a file"]),
    ("wifi", 'ssid = ""', ['""', "1 to 32 bytes"]),
    ("wifi", 'ssid = "%s"' % ("ä" * 17), ["34 bytes", "at most 32"]),
    ("wifi", 'first_address = "192.168.1.101"', ["says nothing of its network", '"192.168.1.101/24"']),
    (
        "wifi",
        'first_address = "192.168.1.300/24"',
        ['"192.168.1.300/24"', "an IPv4 address with its network"],
    ),
    ("wifi", 'first_address = "192.168.1.0/24"', ["leaves no room for nodes"]),
    ("wifi", 'first_address = "192.168.1.1/31"', ["leaves no room for nodes"]),
    ("wifi", "first_address = true", ["true", "an IPv4 address with its network"]),
    ("wifi", 'gateway = "router"', ['"router"', 'an IPv4 address such as "192.168.1.1"']),
    ("wifi", 'dns = "::1"', ['"::1"', 'an IPv4 address such as "192.168.1.1"']),
    ("wifi", "awake_cap_s = -1", ["-1", "0 to 86400"]),
    ("sensors", "devices = 5", ["5", "a list of devices", "adc, bme280, dht22, ds18b20"]),
    ("sensors", "every_s = 0", ["0", "1 to 86400"]),
    ("sensors", "sync_every = 101", ["101", "1 to 100"]),
    ("sensors", "keep_days = -1", ["-1", "0 to 3650"]),
    ("sensors", "keep_kb = 10", ["10", "64 to 65536"]),
    ("sensors", "reserve_kb = 0", ["0", "64 to 65536"]),
    ("sensors", "replay = 3", ["3", "the name of a file"]),
    ("sleep", "deep = 1", ["1", "true or false"]),
    ("sleep", 'deep = "yes"', ['"yes"', "true or false"]),
    ("sleep", "awake_s = 0", ["0", "1 to 3600"]),
    ("sleep", "cap_s = 4", ["4", "5 to 3600"]),
    ("sleep", "hold = 0", ["0", "1 to 1000"]),
    ("sleep", "battery_pin = 49", ["49", "0 to 48"]),
    ("sleep", "battery_empty_mv = 0", ["0", "1 to 4999"]),
    ("sleep", "battery_full_mv = 5001", ["5001", "2 to 5000"]),
    ("sleep", "battery_full_mv = 1650", ["1650", "not more than battery_empty_mv"]),
]


@pytest.mark.parametrize(("section", "line", "words"), BAD_VALUES)
def test_a_bad_value_is_named_with_line_section_key_and_what_is_allowed(section, line, words):
    message = refusal(f"# first\n[{section}]\n{line}\n")
    key = line.split(" = ")[0]
    assert message.startswith(f"network.toml, line 3: [{section}] {key}")
    for word in words:
        assert word in message


def test_every_key_has_a_bad_value_in_the_list_above():
    tried = {(section, line.split(" = ")[0]) for section, line, _ in BAD_VALUES}
    known = {(section, key) for section in SECTIONS for key in keys_of(section)}
    assert known - tried == {("topology", "seed"), ("topology", "columns")}
    assert '"random"' in refusal('[topology]\nkind = "random"\nseed = "random"')
    assert "columns = 0" in refusal('[topology]\nkind = "grid"\ncolumns = 0')


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[run]\nkk = 3", ["line 2", "unknown key kk in [run]", "did you mean k?"]),
        ("[run]\nmax_step = 3", ["line 2", "max_step", "did you mean max_steps?"]),
        ("[run]\nnodes = 3", ["line 2", "nodes belongs under [network]"]),
        ("[run]\nqqq = 3", ["line 2", "qqq", "its keys are schedule, k,"]),
        ("\n[rum]\nk = 3", ["line 2", "unknown section [rum]", "did you mean [run]?"]),
        ("[zzz]", ["line 1", "[zzz]", "[network], [run], [topology], [data], [emulation], [wifi]"]),
        ("k = 9", ["line 1", "k = 9 stands in no section", "[run]"]),
        ("qqq = 9", ["line 1", "qqq = 9", "[network], [run]"]),
        ("run = 5", ["line 1", "write [run], not run = 5"]),
        ("[[run]]\nk = 1", ["line 1", "write [run], not [[run]]"]),
        ("run.kk = 1", ["line 1", "unknown key kk"]),
        ("[run.sub]\nk = 1", ["line 1", "unknown key sub"]),
        ('["run"]\n"k" = 0', ["line 2", "k = 0"]),
    ],
)
def test_an_unknown_name_is_told_the_nearest_known_one(text, words):
    message = refusal(text)
    for word in words:
        assert word in message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[network]\nnodes = 8", ["experiment1", "5 nodes", "there are 8", "ring"]),
        ('[topology]\nkind = "ring"\nphases = [[[1, 2]]]', ["line 3", "keep one"]),
        ('[topology]\nkind = "ring"\nradius = 0.3', ["line 3", "radius = 0.3", "only of random"]),
        ("[topology]\nsplit = 2\nphases = [[[1, 2]]]", ["line 2", "split", "not of phases"]),
        ('[network]\nnodes = 9\n[topology]\nkind = "random"\nradius = 0.01', ["line 4", "larger radius"]),
        ('[run]\nschedule = "gossip"\nslots = 5', ["line 3", "slots = 5", "2 slots", "take 4 or 6"]),
        ('[run]\nschedule = "gossip"\nslots = 1', ["line 3", "slots = 1", "take 2"]),
        ('[run]\nschedule = "gossip"\nmax_slots = 3', ["line 3", "max_slots = 3", "4 or more"]),
    ],
)
def test_keys_that_do_not_go_together_are_named(text, words):
    message = refusal(text)
    for word in words:
        assert word in message


def test_slots_that_fit_the_window_are_taken():
    assert parse('[run]\nschedule = "gossip"\nslots = 6').run.slots == 6
    assert parse('[run]\nschedule = "gossip"\nmax_slots = 4').run.max_slots == 4
    assert parse('[run]\nschedule = "tree"\nslots = 5').run.slots == 5


@pytest.mark.parametrize(
    "url", ["mqtt://u:secret@h:99999", "mqtt://u:secret@h/x", "http://u:secret@h", "u:secret@h"]
)
def test_a_refused_broker_never_shows_its_password(url):
    message = refusal(f'[network]\nbroker = "{url}"')
    assert "secret" not in message
    assert "h" in message


def test_values_of_the_command_line_are_checked_under_their_flags():
    config = parse("[run]\nk = 4")
    changed = config.replaced("run", k=7, max_steps=None)
    assert (changed.run.k, changed.run.max_steps, config.run.k) == (7, 100, 4)
    for values, start in [
        ({"k": 0}, "--k 0: it must be a whole number from 1 to 4096"),
        ({"max_steps": "x"}, "--max-steps x: it must be"),
        ({"slots": 300}, "--slots 300 is more than max_slots = 200"),
        ({"schedule": "gossip", "slots": 5}, "--slots 5: news takes 2 slots"),
    ]:
        with pytest.raises(UsageError) as caught:
            config.replaced("run", **values)
        assert str(caught.value).startswith(start)
    with pytest.raises(UsageError, match=r"^--topology: .*5 nodes"):
        from_mapping(
            {"network": {"nodes": 7}, "topology": {"kind": "experiment1"}},
            flags={("topology", "kind"): "--topology"},
        )


def test_a_later_change_keeps_the_flags_of_an_earlier_one():
    config = from_mapping({}).replaced("run", slots=6)
    with pytest.raises(UsageError, match=r"^--slots 6 is more than max_slots = 4"):
        config.replaced("run", max_slots=4)


@LAW
@given(st.integers(1, 60), st.sampled_from(["ring", "line", "grid", "star", "complete", "random"]))
def test_any_number_of_nodes_has_a_network(nodes, kind):
    config = from_mapping({"network": {"nodes": nodes}, "topology": {"kind": kind}})
    assert config.ids == config.graph.ids == tuple(range(1, nodes + 1))
    config.graph.require_jointly_connected()


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=6,
)
every_key = [(section, key) for section in SECTIONS for key in keys_of(section)]


@LAW
@given(st.sampled_from(every_key), json_like.filter(lambda value: value is not None))
def test_any_value_at_all_is_taken_or_refused_in_one_line_that_names_the_key(place, value):
    section, key = place
    try:
        from_mapping({section: {key: value}})
    except UsageError as error:
        assert re.search(rf"\[{section}\].*\b", str(error))
        assert key in str(error) or section == "network"
        assert len(str(error).split("\n")) == 1


# the file itself


def test_a_file_that_is_not_there_is_told_how_to_come_by_one(tmp_path):
    with pytest.raises(UsageError, match=r"no network.toml in .*dcka init.*--network FILE"):
        find_network_file(folder=tmp_path)
    with pytest.raises(UsageError, match=r"--network .*other.toml does not exist.*dcka init --network"):
        find_network_file(tmp_path / "other.toml")
    with pytest.raises(UsageError, match="is no file"):
        find_network_file(tmp_path)


def test_the_file_is_found_and_knows_its_path(tmp_path, monkeypatch):
    file = tmp_path / "network.toml"
    file.write_text("[run]\nk = 3\n")
    assert find_network_file(folder=tmp_path) == file
    assert find_network_file(file) == file
    assert load(file).file == file
    monkeypatch.chdir(tmp_path)
    assert str(find_network_file()) == "network.toml"
    file.write_text("[run]\nk = 0\n")
    with pytest.raises(UsageError, match=re.escape(f"{file}, line 2: [run] k = 0")):
        load(file)


@pytest.mark.parametrize(
    ("lines", "ppm"),
    [
        ("", 0),
        ('range = "minmax"\ntail = 0.1', 0),
        ('range = "quantile"', 1000),
        ('range = "quantile"\ntail = 0.49', 490_000),
    ],
)
def test_only_quantiles_have_a_tail(lines, ppm):
    assert parse(f"[data]\n{lines}\n").data.tail_ppm == ppm
