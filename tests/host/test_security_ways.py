"""How verbs, emulated nodes and boards come to a broker with locks, without a word about passwords."""

import json
import stat

import pytest

from dcka.boards.broker_choice import broker_for_boards
from dcka.boards.secrets import Secrets, Sources
from dcka.boards.versions import wanted_version
from dcka.broker.access import MONITOR
from dcka.broker.folder import BrokerFolder
from dcka.cli import main
from dcka.cli.board.provision import secrets_for
from dcka.config import State, load, template
from dcka.errors import UsageError
from dcka.mqtt.address import broker_of, note_broker
from dcka.security.setup import Wishes, init

BOARD = "/dev/ttyUSB0"


@pytest.fixture
def home(tmp_path):
    """A folder with a network and its broker, which is called 192.0.2.7."""
    text = template(
        {"network": {"nodes": 3, "name": "attic"}, "topology": {"kind": "line"}, "wifi": {"ssid": "shed"}}
    )
    (tmp_path / "network.toml").write_text(text)
    init(load(tmp_path / "network.toml"), BrokerFolder(tmp_path / "broker"), Wishes(("192.0.2.7",)))
    return tmp_path


@pytest.fixture
def config(home):
    return load(home / "network.toml")


@pytest.fixture
def state(home):
    return State.beside(home / "network.toml")


def _password(home, user):
    return (home / "broker" / "secrets" / user).read_text().strip()


def test_a_broker_that_runs_elsewhere_is_called_by_its_name(home, config, state):
    for role in ("host", MONITOR):
        url = broker_of(config, state, role=role)
        assert str(url) == f"mqtts://{role}@192.0.2.7:8884"
        assert url.password == _password(home, role)
        assert url.ca == home / "broker" / "ca.pem"


def test_one_that_runs_here_is_called_by_loopback(home, config, state):
    url = broker_of(config, state)
    note_broker(state, url, 1, home / "broker")
    assert str(broker_of(config, state)) == "mqtts://host@127.0.0.1:8884"
    assert "secured" in json.loads((state.folder / "broker.json").read_text())


def test_a_url_that_names_it_gets_the_passwords(home, config, state):
    assert broker_of(config, state, "mqtts://192.0.2.7").username == "host"
    assert broker_of(config, state, "mqtt://192.0.2.7:8883").username is None
    named = config.replaced("network", broker="mqtts://192.0.2.7:8883")
    assert broker_of(named, state, role=MONITOR).username == "monitor"


def test_a_board_gets_its_own_password_and_the_authority(home, config, state):
    url = broker_for_boards(config, state, None, [BOARD])
    bound = config.with_broker(url)
    secrets = secrets_for(bound, [], Sources(environ={"DCKA_WIFI_PASSWORD": "a password"}))
    assert secrets == Secrets("a password", None)  # nobody is asked for the broker's
    versions = [wanted_version(bound, node, "x64", secrets) for node in (2, 3)]
    said = json.loads(versions[0].files["node.json"])["broker"]
    assert said == {
        "host": "192.0.2.7",
        "port": 8883,
        "user": "n2",
        "password": _password(home, "n2"),
        "ca": "ca.pem",
    }
    assert versions[0].files["ca.pem"] == (home / "broker" / "ca.pem").read_bytes()
    assert _password(home, "n3").encode() not in versions[0].files["node.json"]
    assert versions[0].folder != versions[1].folder


def test_a_new_password_is_another_version_for_the_board(home, config, state):
    def folder():
        bound = config.with_broker(broker_for_boards(config, state, None, [BOARD]))
        return wanted_version(bound, 2, "x64", Secrets("a password")).folder

    before = folder()
    assert main(["broker", "rotate", "2", "--network", str(home / "network.toml")]) == 0
    assert folder() != before


def test_a_board_is_not_told_of_loopback(home, config, state):
    init(config, BrokerFolder(home / "broker"), Wishes(("127.0.0.1",)))
    with pytest.raises(UsageError, match="dcka broker init makes one with passwords"):
        broker_for_boards(config, state, None, [BOARD])


@pytest.fixture
def dcka(home, monkeypatch, capsys):
    """A call of dcka there: exit code, stdout, stderr."""
    monkeypatch.chdir(home)

    def call(*arguments):
        code = main(["broker", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def test_init_says_what_it_has_made(dcka):
    code, out, err = dcka("init", "--name", "b.local", "--json")
    record = json.loads(out)
    assert code == 0
    assert (record["address"], record["node_port"], record["host_port"]) == ("b.local", 8883, 8884)
    assert (record["new_users"], record["new_authority"], record["reloaded"]) == ([], False, False)
    assert "nodes come to mqtts://b.local:8883, host and monitor to port 8884" in err
    assert "it expires on 20" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["init", "--name", "a b"], "--name a b: 'a b' is neither a host's name nor an address"),
        (["init", "--folder", "elsewhere", "--bind", "x"], "--bind x: that is no address of this computer"),
        (["up", "--folder", "elsewhere"], "there is no broker with passwords in elsewhere: make one"),
        (["check", "--nodes", "7"], "--nodes 7: node 7 is not in the network; the nodes are {1, 2, 3}"),
        (["check", "--broker", "mqtt://127.0.0.1:1"], "is not the one of the folder broker, so its passwords are not"),
        (["rotate", "x"], "'x' is neither a node's id nor host nor monitor"),
        (["remove", "monitor"], "monitor is no node"),
        (["renew", "--authority", "none.key"], "the authority's key none.key cannot be read"),
        (["restore", "none.tgz"], "there is no file none.tgz"),
        (["backup", "network.toml"], "network.toml is there already: overwrite it with --force"),
        (["--port", "1", "up"], "--port stands behind the verb: dcka broker up --port"),
        (["upp"], 'there is no verb "upp"; did you mean up?'),
    ],
)  # fmt: skip
def test_a_refusal_is_one_line(dcka, arguments, words):
    code, out, err = dcka(*arguments)
    assert code in (1, 2)
    assert out == ""
    assert err.count("\n") == 1
    assert words in err


def test_rotate_says_how_the_board_gets_it(dcka, home):
    before = _password(home, "n3")
    code, out, err = dcka("rotate", "3")
    assert code == 0
    assert _password(home, "n3") != before
    assert out == "n3 has a new password, in broker/secrets/n3\n"
    assert "dcka board provision --node 3 --port PORT" in err
    assert before not in out + err
    assert _password(home, "n3") not in out + err


def test_remove_says_what_is_left_to_do(dcka, home):
    code, out, err = dcka("remove", "3")
    assert (code, out) == (0, "n3 is shut out: its password is dead\n")
    assert "network.toml still counts it among the nodes" in err
    assert "stays until this is called again while dcka broker up runs" in err
    assert not (home / "broker" / "secrets" / "n3").exists()
    assert json.loads(dcka("rotate", "3", "--json")[1])["let_in_again"]


def test_backup_and_restore_by_the_verbs(dcka, home):
    code, out, err = dcka("backup", "kept.tgz", "--json")
    assert code == 0
    assert json.loads(out)["parts"] == ["network.toml", "broker"]  # nothing has been injected or run
    assert stat.S_IMODE((home / "kept.tgz").stat().st_mode) == 0o600
    assert "keep it where nobody else reads it" in err
    code, _, err = dcka("restore", "kept.tgz")
    assert (code, "with --force" in err) == (2, True)
    assert dcka("restore", "kept.tgz", "--force")[0] == 0


def test_init_of_a_network_makes_the_broker_too_or_leads_there(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["init"]) == 0
    assert "for a network, first: dcka broker init" in capsys.readouterr().err
    assert not (tmp_path / "broker").exists()
    assert main(["init", "--force", "--secure", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["broker"] == "broker"
    assert record["next"][0] == "dcka broker up"
    assert (tmp_path / "broker" / "secrets" / "n5").is_file()
