"""`dcka pace`, and `dcka stream` for nodes that sleep deeply: what the broker keeps, and how both are told to end."""

import json
import signal
import time
from pathlib import Path

import pytest
from running_call import Call
from servers import running
from test_cli_stream import write_files

from dcka.mqtt import Connection
from dcka.runs import pace as pacing

pytestmark = pytest.mark.system


@pytest.fixture
def place(tmp_path):
    """A folder with the network file of nodes that sleep deeply."""
    write_files(tmp_path)
    file = tmp_path / "network.toml"
    text = file.read_text()
    assert "deep = false" in text
    file.write_text(text.replace("deep = false", "deep = true"))
    return tmp_path


def called(place: Path, *arguments: str) -> dict:
    """The object of a call that ends by itself."""
    call = Call(place, *arguments, "--json")
    record = call.record()
    assert call.ended(None) == 0, call.errors
    return record


def test_the_pace_is_set_shown_served_and_taken_away(place: Path) -> None:
    with running("mosquitto") as broker:
        at = ("--broker", str(broker.address))
        assert called(place, "pace", *at) == {"every_s": None}
        before = time.time()
        made = called(place, "pace", "--every", "900", "--first", "60", *at)
        assert (made["every_s"], made["awake_s"], made["done"], made["next"]) == (900, 20, -1, 0)
        assert called(place, "pace", *at) == made
        with Connection(broker.address, "lab") as connection:
            pace = pacing.published(connection)
            assert pace is not None and 59 <= pacing.unix(pace.at) - before <= 60 + time.time() - before
            connection.subscribe("time")
            serving = Call(place, "pace", "--serve", *at)
            serving.said("says the time to the nodes of lab")
            deadline = time.monotonic() + 60
            while getattr(heard := connection.next(1.0), "suffix", "") != "time":
                assert time.monotonic() < deadline
            assert (
                not heard.retained and abs(pacing.unix(json.loads(heard.payload)["time"]) - time.time()) < 60
            )
            assert serving.ended(signal.SIGTERM) == 143
        assert called(place, "pace", "--serve", "--for", "1", *at)["told"] >= 1
        assert called(place, "pace", "--off", *at) == {"every_s": None}
        assert called(place, "pace", *at) == {"every_s": None}


def test_a_stream_says_its_pace_ends_each_clustering_and_ends_when_told(place: Path) -> None:
    with running("mosquitto") as broker, Connection(broker.address, "lab") as connection:
        at = ("--broker", str(broker.address), "--wait", "0.5")
        call = Call(place, "stream", "--every", "10s", "--json", *at)
        call.said("a clustering every 10s, the next at")
        # Nobody is there: the clustering fails, and is over all the same.
        events = [call.record() for _ in range(2)]
        assert [event["event"] for event in events] == ["window", "failed"], events
        deadline = time.monotonic() + 60
        while (pace := pacing.published(connection)) is None or pace.done < 0:
            assert time.monotonic() < deadline
        assert (pace.every_s, pace.at, pace.awake_s) == (10, 10, 20)
        assert abs(pace.start_of(pace.done) - pacing.seconds(time.time())) < 300
        # Clusterings begin where the pace says.
        begun = pacing.unix(events[0]["until"])
        assert any(-2 <= begun - pacing.unix(pace.start_of(pace.done - back)) < 10 for back in range(3))
        assert call.ended(signal.SIGINT) == 1
        assert any("the pace stays" in line for line in call.errors)

        # Far from the next clustering, a signal ends it at once; what the broker keeps is as it was said.
        for by, code in ((signal.SIGINT, 0), (signal.SIGTERM, 143)):
            call = Call(place, "stream", "--every", "7d", "--json", *at)
            call.said("a clustering every 7d")
            assert call.ended(by) == code, call.errors
            kept = pacing.published(connection)
            assert kept is not None and kept.every_s == kept.at == 7 * 86_400
        call = Call(place, "stream", "--every", "7d", "--for", "1s", *at)
        assert call.ended(None) == 2 and any("take a longer time" in line for line in call.errors)
