"""A network on this computer with the monitor's page, and a browser that looks at it."""

import contextlib
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from servers import LIMIT_S, running

from dcka.bench.monitor.chromium import NoBrowser, chromium
from dcka.config import FILE_NAME, State, load, template
from dcka.datasets import gaussians
from dcka.emulation.air import Faults
from dcka.emulation.cpython import CPythonNetwork
from dcka.emulation.faults import FaultyRadio
from dcka.inject.transfer import send
from dcka.mqtt import Connection


@contextlib.contextmanager
def browsing(**options: Any) -> Iterator[Any]:
    """A page of a real Chromium. Without one the test is skipped, and in CI, which installs it, fails."""
    try:
        with chromium(**options) as context:
            context.set_default_timeout(LIMIT_S * 1000)
            yield context.pages[0] if context.pages else context.new_page()
    except NoBrowser as error:
        if os.environ.get("CI") == "true":
            pytest.fail(str(error))
        pytest.skip(str(error))


def shown(page: Any) -> dict[str, Any]:
    """What a page knows of the network and its run, but for what goes on by itself: ages, and who looked when."""
    values = page.evaluate("() => window.dcka.values()")
    left_out = ("event/", "control")
    return {
        name: {key: one for key, one in value.items() if key not in ("heard", "known", "up_at")}
        if isinstance(value, dict)
        else value
        for name, value in values.items()
        if not name.startswith(left_out)
    }


class WebMonitor:
    """A running `dcka monitor --web`: its URL, once it has said it."""

    def __init__(self, folder: Path, broker: str, *arguments: str, web: str = "0") -> None:
        command = [sys.executable, "-m", "dcka.cli", "monitor", "--web", web, "--broker", broker, *arguments]
        self.process = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        self.lines: list[str] = []
        self._came = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        with self._came:
            assert self._came.wait_for(lambda: self._url() or self._over, LIMIT_S), self.lines
        self.url = self._url()
        assert self.url, self.lines

    _over = False

    def _url(self) -> str:
        found = [match[0] for line in self.lines if (match := re.search(r"http://\S+/", line))]
        return found[0] if found else ""

    def _read(self) -> None:
        for line in self.process.stderr:
            with self._came:
                self.lines.append(line.rstrip("\n"))
                self._came.notify_all()
        with self._came:
            self._over = True
            self._came.notify_all()

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join()
        self.process.stderr.close()


@contextlib.contextmanager
def monitoring(folder: Path, broker: str, *arguments: str, web: str = "0") -> Iterator[WebMonitor]:
    monitor = WebMonitor(folder, broker, *arguments, web=web)
    try:
        yield monitor
    finally:
        monitor.close()


@dataclass
class Scene:
    """A network whose nodes hold their readings, and its monitor."""

    folder: Path
    broker: Any
    nodes: CPythonNetwork
    monitor: WebMonitor

    def restart(self) -> None:
        """The monitor again, where it was before."""
        port = self.monitor.url.rstrip("/").rpartition(":")[2]
        self.monitor = WebMonitor(self.folder, self.broker.url, web=port)

    def run(self, *arguments: str) -> None:
        """`dcka run`, as a person would."""
        command = [sys.executable, "-m", "dcka.cli", "run", "--broker", self.broker.url, "--json", *arguments]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=LIMIT_S)
        assert done.returncode == 0, done.stderr


@contextlib.contextmanager
def scene(folder: Path, per_gaussian: int = 20, delay_ms: float = 0.0) -> Iterator[Scene]:
    """Broker, five nodes with the nine Gaussians, and the monitor. `delay_ms`: what a message between nodes takes."""
    (folder / FILE_NAME).write_text(template())
    config = load(folder / FILE_NAME)
    dataset = gaussians(1, per_gaussian=per_gaussian)
    with contextlib.ExitStack() as stack:
        broker = stack.enter_context(running("embedded"))
        monitor = stack.enter_context(monitoring(folder, broker.url))
        heard = broker.address
        if delay_ms:
            radio = FaultyRadio(lambda: broker.address, Faults(delay_ms=delay_ms))
            heard = stack.enter_context(radio).address
        nodes = stack.enter_context(CPythonNetwork("sensors", config.ids, heard))
        with Connection(broker.address, config.network.name) as connection:
            send(connection, dataset)
        dataset.save(State.beside(config.file).folder)
        made = Scene(folder, broker, nodes, monitor)
        stack.callback(lambda: made.monitor.close())
        yield made
