"""`dcka board logs` on emulated boards: it only listens, and goes on listening whatever happens to the board."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from board_bench import node_files

from dcka.boards.emulated import EmulatedBoard
from dcka.cli import main
from dcka.emulation.micropython import available

pytestmark = pytest.mark.skipif(not available(), reason=str(available().reason))


class Logs:
    """A running `dcka board logs`; with --json, event by event."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self.events: list[dict[str, Any]] = []

    def lines(self) -> Iterator[str]:
        """The lines of its output, as they come."""
        assert self.process.stdout is not None
        return iter(self.process.stdout)

    def until(self, kind: str, text: str = "") -> dict[str, Any]:
        """Read on to an event of this kind with this text in it. The test's own limit ends a wait in vain."""
        for line in self.lines():
            self.events.append(json.loads(line))
            if self.events[-1]["event"] == kind and text in self.events[-1]["text"]:
                return self.events[-1]
        raise AssertionError(f"it ended before {kind} {text}: {self.events}")


@contextmanager
def logs(folder: Path, *arguments: str, ports: str) -> Iterator[Logs]:
    process = subprocess.Popen(
        [sys.executable, "-m", "dcka", "board", "logs", *arguments],
        cwd=folder,
        env={**os.environ, "DCKA_PORTS": ports},
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield Logs(process)
        finally:
            process.kill()


def test_a_node_is_followed_through_resets_and_unplugging_and_never_touched(tmp_path: Path):
    link = tmp_path / "board"
    with EmulatedBoard(tmp_path / "a", extra_files=node_files(3), on=False) as node:
        link.symlink_to(node.port)
        with logs(tmp_path, "--all", "--json", ports=str(link)) as heard:
            assert heard.until("opened")["node"] is None
            node.power_on()
            first = heard.until("line", "boot 1,")
            assert (first["node"], first["sure"], first["port"]) == (3, True, str(link))
            assert heard.until("line", "broker failed: refused")["node"] == 3
            node.power_off()
            node.power_on()
            assert heard.until("line", "boot 2,")["node"] == 3
            node.power_off()
            node.unplug()
            heard.until("gone")
            link.unlink()
            node.plug_in()
            link.symlink_to(node.port)
            heard.until("opened")
            node.power_on()
            assert heard.until("line", "boot 3,")["node"] == 3
            heard.process.send_signal(signal.SIGINT)
            assert heard.process.wait(10) == 0


def test_two_boards_are_told_apart_and_a_crash_is_shown_whole(tmp_path: Path):
    broken = {path: content for path, content in node_files(2).items() if not path.endswith("node.json")}
    folder = next(path.split("/")[0] for path in broken if path.startswith("fw-"))
    broken[f"{folder}/node.json"] = b"{"
    with (
        EmulatedBoard(tmp_path / "a", extra_files=node_files(3), on=False) as well,
        EmulatedBoard(tmp_path / "b", mac="24:0a:c4:00:00:02", extra_files=broken, on=False) as ill,
    ):
        ports = f"{well.port}{os.pathsep}{ill.port}"
        with logs(tmp_path, "--all", "--json", ports=ports) as heard:
            heard.until("opened"), heard.until("opened")
            well.power_on(), ill.power_on()
            heard.until("line", "dcka: crash: ")
            theirs = [event["text"] for event in heard.events if event["port"] == ill.port]
            assert "Traceback (most recent call last):" in theirs
            assert '  File "dcka_device.config", in read' in theirs
            assert all(event["node"] in (None, 3) for event in heard.events if event["port"] == well.port)


def test_lines_for_people_have_the_node_and_the_time_of_day(tmp_path: Path):
    with (
        EmulatedBoard(tmp_path / "a", extra_files=node_files(3), on=False) as node,
        logs(tmp_path, "--port", node.port, "--timestamps", "--for", "30", ports="") as heard,
    ):
        lines = heard.lines()
        first = next(lines)
        node.power_on()
        told = next(line for line in lines if "dcka: node 3" in line)
    assert re.fullmatch(r"\d\d:\d\d:\d\d\.\d{3} /dev/\S+ \| -- listening\n", first)
    assert re.fullmatch(r"\d\d:\d\d:\d\d\.\d{3} node 3 \| dcka: node 3 of greenhouse, boot 1, .*\n", told)


def test_it_ends_by_itself_after_the_time_that_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    with EmulatedBoard(tmp_path / "a", on=False) as board:
        assert main(["board", "logs", "--port", board.port, "--for", "0.2"]) == 0
        assert capfd.readouterr().out == f"{board.port} | -- listening\n"


def test_where_there_is_nothing_to_follow_it_says_so_and_ends(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    assert main(["board", "logs", "--port", "/dev/ttyUSB99"]) == 3
    assert "there is no port /dev/ttyUSB99" in capfd.readouterr().err
    monkeypatch.setenv("DCKA_PORTS", "/dev/ttyUSB99")
    assert main(["board", "logs"]) == 2
    assert "/dev/ttyUSB99" in capfd.readouterr().err
