"""Several boards provisioned at once: each is looked at, then all get their ids, then each its files and a restart.

A board's session stays open in between, so that none is interrupted twice. What goes wrong with one board is in its
outcome, and does not stop the others.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from dcka.boards.assigning import Candidate
from dcka.boards.errors import BoardError
from dcka.boards.flashing import PARALLEL, Detected, detect_all
from dcka.boards.installed import Facts, Installed, board_facts, read_installed
from dcka.boards.joining import JoinError, wait_until_joined
from dcka.boards.ports import PortInfo
from dcka.boards.provisioning import Provisioned, Version, provision
from dcka.boards.repl import Repl, open_repl
from dcka.boards.versions import require_fit
from dcka.errors import DckaError

Tell = Callable[[str, str, float], None]
"""Called with a port, what happens there, and which part of the sending is done (0 … 1); from any thread."""


class Stopped(BoardError):
    """A person has pressed Ctrl-C."""


@dataclass
class Session:
    """One board from the first look to the end. `error`: what ended it; then nothing more is done with it."""

    port: PortInfo
    mac: str | None = None
    facts: Facts | None = None
    installed: Installed | None = None
    version: Version | None = None
    done: Provisioned | None = None
    joined: bool | None = None
    error: DckaError | None = None
    seconds: float = 0.0
    repl: Repl | None = field(default=None, repr=False)
    resources: contextlib.ExitStack = field(default_factory=contextlib.ExitStack, repr=False)

    @property
    def path(self) -> str:
        """The port's path."""
        return self.port.path

    def candidate(self, network: str) -> Candidate:
        """For `assigning.assigned`. Of a board that was looked at, and has a MAC."""
        there = self.installed
        says = there.node if there is not None and there.network == network else None
        return Candidate(self.port, self.mac or "", says)

    def record(self) -> dict[str, object]:
        """The outcome, for JSON."""
        done = self.done
        return {
            "port": self.path,
            "mac": self.mac,
            "node": self.version.node if self.version else None,
            "network": self.version.network if self.version else None,
            "folder": self.version.folder if self.version else None,
            "sent": done.sent if done else [],
            "copied": done.copied if done else [],
            "skipped": done.skipped if done else [],
            "bytes": done.bytes_sent if done else 0,
            "joined": self.joined,
            "seconds": round(self.seconds, 2),
            "error": str(self.error) if self.error else None,
        }


class Fleet:
    """The boards on `ports`, at most `parallel` worked on at a time. At the end all run, and the ports are closed.

    From the main thread only.
    """

    def __init__(self, ports: Sequence[PortInfo], parallel: int = PARALLEL, tell: Tell | None = None) -> None:
        self.sessions = [Session(port) for port in ports]
        self._parallel = max(1, parallel)
        self._told = tell or (lambda port, words, part: None)
        self._stop = threading.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._each(lambda session: session.resources.close(), self.sessions)

    @property
    def well(self) -> list[Session]:
        """Those with which nothing is wrong."""
        return [session for session in self.sessions if session.error is None]

    def look(self, source: bool = False) -> None:
        """Ask each board what it is and what it has. `source`: it will get no .mpy files."""
        self._each(lambda session: self._look(session, source), self.sessions)
        nameless = [session for session in self.well if session.mac is None]
        if nameless:
            # The bootloader knows it; it is behind the same port, which therefore has to be free.
            self._each(lambda session: session.resources.close(), nameless)
            answers = detect_all([session.path for session in nameless], self._parallel)
            for session, answer in zip(nameless, answers, strict=True):
                if isinstance(answer, Detected):
                    session.mac = answer.mac
                else:
                    session.error = answer
            self._each(self._open, [session for session in nameless if session.error is None])

    def provision(self, wait_s: float | None) -> None:
        """Give each board that has a `version` its files, restart it, and wait for it to join (None: do not wait)."""
        ready = [session for session in self.well if session.version is not None]
        self._each(lambda session: self._provision(session, wait_s), ready)

    def _look(self, session: Session, source: bool) -> None:
        self._tell(session, "looking")
        repl = self._open(session)
        session.facts = board_facts(repl)
        session.mac = session.facts.mac
        require_fit(session.path, session.facts, source)
        session.installed = read_installed(repl)

    def _open(self, session: Session) -> Repl:
        session.repl = session.resources.enter_context(open_repl(session.path, on_turn=self._check))
        return session.repl

    def _provision(self, session: Session, wait_s: float | None) -> None:
        repl, version = session.repl, session.version
        if repl is None or version is None:
            raise RuntimeError(f"{session.path}: provisioned before it was looked at")

        def sent(count: int, total: int) -> None:
            self._tell(session, "sending", count / max(1, total))

        session.done = provision(repl, version, sent, session.installed)
        repl.soft_reset()
        if wait_s is None:
            self._tell(session, "restarted", 1)
            return
        self._tell(session, "starting", 1)
        session.joined = False
        try:
            wait_until_joined(
                repl.lines(wait_s),
                wait_s,
                on_step=lambda step: self._tell(session, step, 1),
                on_turn=self._check,
            )
        except JoinError as error:
            raise type(error)(f"{session.path}: {error}") from None
        session.joined = True

    def _each(self, work: Callable[[Session], object], sessions: Sequence[Session]) -> None:
        """Do `work` with the sessions, in threads; Ctrl-C ends them all at their next step, closed in order."""

        def guarded(session: Session) -> None:
            began = time.monotonic()
            try:
                work(session)
            except DckaError as error:
                session.error = error
                session.resources.close()
            finally:
                session.seconds += time.monotonic() - began

        with ThreadPoolExecutor(self._parallel) as pool:
            futures = [pool.submit(guarded, session) for session in sessions]
            try:
                wait(futures)
            except BaseException:
                self._stop.set()
                pool.shutdown(cancel_futures=True)
                raise
        for future in futures:
            future.result()

    def _tell(self, session: Session, words: str, part: float = 0.0) -> None:
        self._check()
        self._told(session.path, words, part)

    def _check(self) -> None:
        if self._stop.is_set():
            raise Stopped("stopped")
