"""Emulation in parts, as on several computers: who is waited for, whose id is taken, what the end of a part does."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from by_hand import RUNTIMES
from running_call import Call
from servers import TestClient, running, wait_until

from dcka.broker import Broker
from dcka.cli import main
from dcka.config import template

NAME = "spread"
LONG_S = 60.0


pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def broker() -> Iterator[Broker]:
    with running("embedded") as made:
        yield made


@pytest.fixture(params=RUNTIMES)
def dcka(request: pytest.FixtureRequest, tmp_path: Path, broker: Broker) -> Iterator[Any]:
    """`dcka(verb, …)`: a Call for this broker, in a folder with a network of six nodes; ended whatever happens."""
    (tmp_path / "network.toml").write_text(
        template(
            {
                "network": {"name": NAME, "nodes": 6},
                "run": {"k": 9, "patience_ms": 100},
                "topology": {"kind": "ring"},
                "emulation": {"runtime": request.param},
            }
        )
    )
    calls: list[Call] = []

    def start(verb: str, *arguments: str) -> Call:
        calls.append(Call(tmp_path, verb, "--broker", broker.url, "--json", *arguments))
        return calls[-1]

    yield start
    for call in calls:
        if call._process.poll() is None:
            call.ended()


def record_of(call: Call) -> dict[str, Any]:
    """What it prints, however slowly a loaded machine starts it."""
    return call.record(LONG_S)


def said(call: Call, words: str) -> None:
    """Once it has."""
    wait_until(lambda: any(words in line for line in call.errors), f"{words!r} in {call.errors}", LONG_S)


def ended(call: Call) -> int:
    """By itself; its exit code."""
    wait_until(lambda: call._process.poll() is not None, "its end", LONG_S)
    return call.ended(None)


def test_a_run_says_whom_it_waits_for_and_begins_when_the_second_part_is_there(dcka: Any) -> None:
    first = dcka("emulate", "--nodes", "1-3")
    assert record_of(first)["online"] == [1, 2, 3]
    run = dcka("run", "--wait", "60")
    said(run, "waiting for nodes 4, 5 and 6 to come online")
    second = dcka("emulate", "--nodes", "4-6")
    assert record_of(second)["online"] == [4, 5, 6]
    said(run, "all are online")
    assert ended(run) == 1  # they have no readings, which is looked for only now
    assert any("dcka inject" in line for line in run.errors), run.errors


def test_who_does_not_come_is_named_in_the_end(dcka: Any) -> None:
    record_of(dcka("emulate", "--nodes", "1-3"))
    run = dcka("run", "--wait", "0.5")
    assert ended(run) == 1
    assert "nodes 4, 5 and 6 of network spread are not online" in run.errors[-1]
    assert "waited 0.5 s" in run.errors[-1]


def test_an_id_that_another_part_has_is_refused_by_name(dcka: Any) -> None:
    record_of(dcka("emulate", "--nodes", "1-4"))
    second = dcka("emulate", "--nodes", "3-6")
    assert ended(second) == 1
    assert "nodes 3 and 4 of network spread are online" in second.errors[-1]
    assert "--nodes" in second.errors[-1]


def test_the_end_of_a_part_in_a_run_is_a_partial_run_and_no_hang(
    dcka: Any, broker: Broker, tmp_path: Path
) -> None:
    """The part with the smaller half goes; more than half of the nodes go on without it."""
    slow = ["--delay-ms", "10"]
    first = dcka("emulate", "--nodes", "1-4", *slow)
    second = dcka("emulate", "--nodes", "5-6", *slow)
    record_of(first), record_of(second)
    inject = ["--network", str(tmp_path / "network.toml"), "--broker", broker.url]
    assert main(["inject", "--data", "gaussians", *inject]) == 0
    with TestClient(broker.address, "eye") as eye:
        eye.subscribe(f"dcka/{NAME}/step/+")
        run = dcka("run")
        assert json.loads(eye.next(LONG_S).payload)["step"] == 0
        assert second.ended() == 0
        record = record_of(run)
    assert ended(run) == 1
    assert record["missing"] == [5, 6]
    assert "partial" in run.errors[-1]
