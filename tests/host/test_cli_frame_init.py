"""`dcka init`, and the options that verbs share."""

import json

import click
import pytest

from dcka.cli import main
from dcka.cli.options import broker_option, configuration, json_option, network_option, state_of, state_option
from dcka.config import load
from dcka.errors import UsageError


@pytest.fixture
def init(tmp_path, monkeypatch, capsys):
    """Calls `dcka init …` in an empty folder; (code, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        code = main(["init", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def test_without_options_it_writes_the_papers_first_experiment(init, tmp_path):
    code, out, _ = init()
    assert code == 0
    assert out == "wrote network.toml: network sensors, 5 nodes, topology experiment1\n"
    config = load(tmp_path / "network.toml")
    assert (config.ids, config.run.k, config.topology.kind) == ((1, 2, 3, 4, 5), 9, "experiment1")
    assert sorted(file.name for file in tmp_path.iterdir()) == [".dcka", "network.toml"]
    # For updates over the air; for its owner alone.
    key = tmp_path / ".dcka" / "update.key"
    assert len(bytes.fromhex(key.read_text())) == 32 and key.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("arguments", "kind", "nodes", "k", "name"),
    [
        (["--nodes", "20"], "experiment2", 20, 9, "sensors"),
        (["--nodes", "8", "--k", "3"], "grid", 8, 3, "sensors"),
        (["--nodes", "1"], "grid", 1, 9, "sensors"),
        (
            ["--nodes", "12", "--topology", "random", "--name", "green-house_2"],
            "random",
            12,
            9,
            "green-house_2",
        ),
    ],
)
def test_what_it_writes_is_what_was_asked_for(init, tmp_path, arguments, kind, nodes, k, name):
    code, out, err = init(*arguments, "--json")
    assert code == 0
    record = json.loads(out)
    assert (record["topology"], record["nodes"], record["name"]) == (kind, list(range(1, nodes + 1)), name)
    assert record["file"] == str(tmp_path / "network.toml")
    for call in record["next"]:
        assert call in err
    config = load(tmp_path / "network.toml")
    assert (config.topology.kind, len(config.ids), config.run.k, config.network.name) == (
        kind,
        nodes,
        k,
        name,
    )


def test_it_never_overwrites_unless_forced(init, tmp_path):
    file = tmp_path / "network.toml"
    file.write_text("mine")
    code, out, err = init("--k", "3")
    assert (code, out) == (2, "")
    what = "network.toml is there already"
    assert err == f"dcka: {what}; overwrite it with --force, or write another with --network FILE\n"
    assert file.read_text() == "mine"
    assert init("--k", "3", "--force")[0] == 0
    assert load(file).run.k == 3


def test_another_file_is_named_in_the_calls_that_come_next(init, tmp_path):
    code, out, _ = init("--network", "two.toml", "--json")
    assert code == 0
    assert load(tmp_path / "two.toml").run.k == 9
    assert all(call.endswith(" --network two.toml") for call in json.loads(out)["next"])


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ["--nodes", "0"],
            "dcka: --nodes 0: it must be a number of nodes from 1 to 65535, or a list of their ids",
        ),
        (["--k", "0"], "dcka: --k 0: it must be a whole number from 1 to 4096"),
        (["--name", "a/b"], "dcka: --name a/b: it must be 1 to 64 letters, digits, - or _"),
        (["--topology", "rign"], 'dcka: --topology: "rign" is not known; did you mean "ring"? '),
        (
            ["--nodes", "7", "--topology", "experiment2"],
            'dcka: --topology: "experiment2" is a topology for 20 nodes',
        ),
        (["--network", "none/x.toml"], "dcka: none/x.toml cannot be written: No such file or directory"),
        (["--network", "."], "dcka: invalid value for '--network': File '.' is a directory"),
    ],
)
def test_what_cannot_be_written_is_refused_by_its_option_and_nothing_is_left(init, tmp_path, arguments, line):
    code, out, err = init(*arguments)
    assert code != 0
    assert out == ""
    assert err.startswith(line)
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


# the options that verbs share


@click.command()
@json_option
@network_option
@state_option
@broker_option
def everything(output, network, state, broker):
    """A verb with all the shared options."""
    config = configuration(network, broker)
    output.result(
        {"k": config.run.k, "broker": str(config.network.broker), "state": state_of(config, state).folder}
    )


def answer(capsys, *arguments):
    everything.main(["--json", *arguments], standalone_mode=False)
    return json.loads(capsys.readouterr().out)


def test_shared_options_find_the_file_the_state_and_the_broker(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "network.toml").write_text("[run]\nk = 3\n")
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "b.toml").write_text('[network]\nbroker = "mqtt://b"\n')
    assert answer(capsys) == {"k": 3, "broker": "None", "state": ".dcka"}
    assert answer(capsys, "--network", "nets/b.toml") == {
        "k": 9,
        "broker": "mqtt://b:1883",
        "state": "nets/.dcka",
    }
    assert answer(capsys, "--broker", "mqtt://h:1", "--state", "s")["broker"] == "mqtt://h:1"
    with pytest.raises(UsageError, match=r"^--broker: 'tcp://h': the scheme is mqtt, not 'tcp'"):
        configuration(None, "tcp://h")
    with pytest.raises(UsageError, match="does not exist"):
        configuration(tmp_path / "none.toml")
