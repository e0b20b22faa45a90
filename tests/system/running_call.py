"""A call of dcka that runs on while a test looks at it."""

import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from leftovers import started_processes
from servers import LIMIT_S, is_running, wait_until

STAMP = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (error|warning|info|debug): ")


class Call:
    """A call of dcka that runs on: its lines on stdout and stderr as they come.

    `errors`: what stderr got, without the time and level that long-running verbs put before it.
    """

    def __init__(self, folder: Path, *arguments: str) -> None:
        temporary = folder / "temporary"
        temporary.mkdir(exist_ok=True)
        self._process = subprocess.Popen(
            [sys.executable, "-X", "faulthandler", "-m", "dcka.cli", *arguments],
            cwd=folder,
            env={**os.environ, "TMPDIR": str(temporary)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.pid = self._process.pid
        self.errors: list[str] = []
        self._lines: queue.Queue[str] = queue.Queue()
        self._threads = [
            threading.Thread(target=self._read, args=(self._process.stdout, self._lines.put)),
            threading.Thread(target=self._read, args=(self._process.stderr, self._take_error)),
        ]
        for thread in self._threads:
            thread.start()

    def _read(self, stream: Any, take: Any) -> None:
        with stream:
            for line in stream:
                take(line.rstrip("\n"))

    def _take_error(self, line: str) -> None:
        self.errors.append(STAMP.sub("", line))

    def line(self, limit_s: float = LIMIT_S) -> str:
        """The next line on stdout."""
        try:
            return self._lines.get(timeout=limit_s)
        except queue.Empty:
            raise AssertionError(f"nothing on stdout; on stderr: {self.errors}") from None

    def record(self, limit_s: float = LIMIT_S) -> dict[str, Any]:
        """The JSON object of --json."""
        record: dict[str, Any] = json.loads(self.line(limit_s))
        return record

    def said(self, words: str) -> str:
        """The first line on stderr with these words, once it is there."""
        wait_until(lambda: any(words in line for line in self.errors), f"{words!r} in {self.errors}")
        return next(line for line in self.errors if words in line)

    def ended(self, by: signal.Signals | None = signal.SIGINT) -> int:
        """Send Ctrl-C, wait for its end; the exit code. Nothing that it started or made is left then."""
        children = started_processes(self.pid, "nobody")
        if by is not None:
            self._process.send_signal(by)
        try:
            code = self._process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            self._process.send_signal(signal.SIGABRT)  # where it stands goes to stderr
            code = self._process.wait()
        for thread in self._threads:
            thread.join()
        assert code >= 0, "\n".join(self.errors)
        assert self._lines.empty(), "more than one line on stdout"
        assert not any(map(is_running, children)), children
        return code
