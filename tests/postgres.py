"""A PostgreSQL server of the tests' own: on a socket in a folder of its own, gone at the end."""

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

LIMIT_S = 60.0
PROGRAMS = (
    "/usr/lib/postgresql/*/bin",
    "/opt/homebrew/opt/postgresql*/bin",
    "/usr/local/opt/postgresql*/bin",
)


def find_programs() -> Path | None:
    """The folder with initdb and postgres: of the PATH, or the newest of the usual ones."""
    named = shutil.which("initdb")
    if named:
        return Path(named).resolve().parent
    found = [folder for pattern in PROGRAMS for folder in Path("/").glob(pattern[1:])]
    return max((one for one in found if (one / "initdb").exists()), default=None, key=_version)


def _version(folder: Path) -> float:
    digits = "".join(sign for sign in folder.parent.name if sign.isdigit() or sign == ".")
    return float(digits) if digits.count(".") < 2 and digits.strip(".") else 0.0


def require_programs() -> Path:
    """Where they are; without them, or their driver, the test is skipped, and in CI, which installs them, fails."""
    found = find_programs()
    with contextlib.suppress(ImportError):
        import psycopg  # noqa: F401

        if found is not None:
            return found
    sentence = (
        "no PostgreSQL here: apt-get install postgresql, or brew install postgresql; and the extra postgresql"
    )
    if os.environ.get("CI") == "true":
        pytest.fail(sentence)
    pytest.skip(sentence)


@contextlib.contextmanager
def postgresql() -> Iterator[str]:
    """A server; the URL of its database `postgres`, whose user may do everything."""
    programs = require_programs()
    folder = Path(tempfile.mkdtemp(prefix="dcka-pg-"))
    user = _somebody()
    try:
        if user is not None:  # the server refuses to be root's
            os.chown(folder, pwd.getpwnam(user).pw_uid, pwd.getpwnam(user).pw_gid)
        data = folder / "data"
        made = subprocess.run(
            [
                programs / "initdb",
                "-D",
                data,
                "-U",
                "dcka",
                "-A",
                "trust",
                "--no-sync",
                "-E",
                "UTF8",
                "--locale=C",
            ],
            **_as(user),
            cwd="/",
            capture_output=True,
            text=True,
        )
        if made.returncode:
            pytest.skip(f"PostgreSQL cannot be set up here: {made.stderr.strip()[-300:]}")
        with _server(programs, folder, data, user):
            yield f"postgresql://dcka@/postgres?host={folder}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _server(programs: Path, folder: Path, data: Path, user: str | None) -> Iterator[None]:
    arguments = [
        "-D",
        data,
        "-k",
        folder,
        "-c",
        "listen_addresses=",
        "-c",
        "fsync=off",
        "-c",
        "shared_buffers=16MB",
    ]
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(
            [programs / "postgres", *arguments], **_as(user), cwd="/", stdout=log, stderr=log
        )
    try:
        deadline = time.monotonic() + LIMIT_S
        while not (folder / ".s.PGSQL.5432").exists() or not _ready(programs, folder):
            said = (folder / "log").read_text()
            assert server.poll() is None and time.monotonic() < deadline, said[-1000:]
            time.sleep(0.05)
        yield
    finally:
        server.send_signal(signal.SIGQUIT)  # at once: nobody needs what it holds
        try:
            server.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _ready(programs: Path, folder: Path) -> bool:
    asked = subprocess.run([programs / "pg_isready", "-q", "-h", folder], check=False)
    return asked.returncode == 0


def _somebody() -> str | None:
    """As whom to run, where we are root."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    for name in ("postgres", "nobody"):
        if name in names:
            return name
    pytest.skip("PostgreSQL refuses to run as root, and there is neither a user postgres nor a nobody")


def _as(user: str | None) -> dict[str, object]:
    if user is None:
        return {}
    return {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []}
