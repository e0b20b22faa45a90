"""The set-up scripts say what is wrong and what to do, and leave alone what is there."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
# What the scripts call; each test's PATH has these and what it adds.
TOOLS = (
    "sh",
    "cat",
    "cksum",
    "dirname",
    "env",
    "head",
    "id",
    "mkdir",
    "rm",
    "sed",
    "sort",
    "chmod",
    "tee",
    "touch",
)


@pytest.fixture
def checkout(tmp_path):
    """A folder with the set-up files alone, and in it `bin` as the only entry of the PATH."""
    shutil.copytree(ROOT / "tools", tmp_path / "tools", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "bin").mkdir()
    for name in TOOLS:
        (tmp_path / "bin" / name).symlink_to(shutil.which(name))
    return tmp_path


def put_command(checkout, name, script):
    """An executable shell script in the PATH of `checkout`."""
    path = checkout / "bin" / name
    path.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
    path.chmod(0o755)


def run(checkout, *command, **variables):
    environment = {"PATH": str(checkout / "bin"), "HOME": str(checkout), **variables}
    return subprocess.run(
        command, cwd=checkout, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )


def test_without_a_python_setup_says_which_it_wants(checkout):
    done = run(checkout, "sh", "tools/setup.sh")
    assert done.returncode == 1
    assert "no Python of 3.11 or later" in done.stderr
    assert "PYTHON=" in done.stderr
    assert not (checkout / ".venv").exists()


def test_a_stand_in_that_does_not_run_is_passed_over(checkout):
    put_command(checkout, "python3.14", "echo 'no such version' >&2; exit 127")
    put_command(checkout, "python3", "exit 1")
    done = run(checkout, "sh", "tools/setup.sh")
    assert done.returncode == 1
    assert "no Python of 3.11 or later" in done.stderr


def test_a_wrong_choice_of_python_is_named(checkout):
    done = run(checkout, "sh", "tools/setup.sh", PYTHON="/nowhere/python3")
    assert done.returncode == 1
    assert "PYTHON=/nowhere/python3 is not a Python of 3.11 or later" in done.stderr


def test_a_failing_installation_leaves_no_stamp(checkout):
    put_command(
        checkout,
        "python3",
        f'case "$*" in *venv*) mkdir -p .venv/bin; exit 3 ;; esac; exec {sys.executable} "$@"',
    )
    done = run(checkout, "sh", "tools/setup.sh")
    assert done.returncode == 3
    assert not (checkout / ".venv" / ".made-from").exists()


def finished_environment(checkout):
    """What setup.sh takes for a finished .venv: its Python counts how often pip was called."""
    (checkout / ".venv" / "bin").mkdir(parents=True)
    for name, script in (
        ("dcka", "exit 0"),
        ("python", 'case "$*" in *pip*) echo "$*" >> pip-calls ;; esac'),
    ):
        (checkout / ".venv" / "bin" / name).write_text(f"#!/bin/sh\n{script}\n", "utf-8")
        (checkout / ".venv" / "bin" / name).chmod(0o755)
    pins = b"".join(
        (checkout / name).read_bytes()
        for name in ("pyproject.toml", "constraints.txt", "tools/pinned_wheels.txt")
    )
    checksum = subprocess.run(["cksum"], input=pins, stdout=subprocess.PIPE, check=True).stdout.decode()
    (checkout / ".venv" / ".made-from").write_text(f"{checkout.resolve()}\n{checksum}", "utf-8")


def pip_calls(checkout):
    file = checkout / "pip-calls"
    return file.read_text("utf-8").splitlines() if file.exists() else []


def test_a_finished_environment_is_left_alone(checkout):
    finished_environment(checkout)
    done = run(checkout, "sh", "tools/setup.sh")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert pip_calls(checkout) == []


@pytest.mark.parametrize("name", ["pyproject.toml", "constraints.txt", "tools/pinned_wheels.txt"])
def test_a_changed_pin_installs_again_with_hashes_and_constraints(checkout, name):
    finished_environment(checkout)
    with (checkout / name).open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    assert run(checkout, "sh", "tools/setup.sh").returncode == 0
    first, *others = [call for call in pip_calls(checkout) if " install " in call]
    assert "--require-hashes" in first and "tools/pinned_wheels.txt" in first
    assert others and all("-c constraints.txt" in call for call in others)
    before = pip_calls(checkout)
    assert run(checkout, "sh", "tools/setup.sh").returncode == 0
    assert pip_calls(checkout) == before


def test_an_environment_that_was_moved_is_not_taken_for_finished(checkout):
    finished_environment(checkout)
    stamp = checkout / ".venv" / ".made-from"
    stamp.write_text("/elsewhere\n" + stamp.read_text("utf-8").partition("\n")[2], "utf-8")
    assert "no Python" in run(checkout, "sh", "tools/setup.sh").stderr


def test_system_packages_does_nothing_where_all_is_there(checkout):
    for name in ("mosquitto", "node", "npm", "chromium", "initdb"):
        put_command(checkout, name, "exit 0")
    put_command(checkout, "apt-get", "touch called")
    done = run(checkout, "sh", "tools/system_packages.sh", "tests")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not (checkout / "called").exists()


def test_system_packages_says_what_is_missing_where_it_cannot_install(checkout):
    done = run(checkout, "sh", "tools/system_packages.sh", "tests")
    assert done.returncode == 1
    assert "nodejs npm" in done.stderr and "missing" in done.stderr
    assert "install them with your system's packages" in done.stderr


def test_system_packages_says_the_command_where_nobody_can_become_root(checkout):
    (checkout / "bin" / "id").unlink()
    put_command(checkout, "id", "echo 1000")
    put_command(checkout, "apt-get", "touch called")
    put_command(checkout, "sudo", "exit 1")
    done = run(checkout, "sh", "tools/system_packages.sh", "tests")
    assert done.returncode == 1
    assert "apt-get install" in done.stderr and "nodejs npm" in done.stderr
    assert not (checkout / "called").exists()


def test_verify_tells_a_changed_file_from_a_missing_one(tmp_path):
    (tmp_path / "right").write_bytes(b"right")
    (tmp_path / "changed").write_bytes(b"changed")
    right = hashlib.sha256(b"right").hexdigest()
    (tmp_path / "list").write_text(f"{right}  right\n{right}  changed\n{right}  gone\n", "utf-8")
    command = [sys.executable, str(ROOT / "tools" / "verify_sha256.py"), "list"]
    done = subprocess.run(command, cwd=tmp_path, env=dict(os.environ), capture_output=True, text=True)
    assert done.returncode == 1
    changed, gone = done.stderr.splitlines()
    assert changed.startswith("changed has SHA-256") and right in changed
    assert gone == "gone is missing"
    (tmp_path / "list").write_text(f"{right}  right\n", "utf-8")
    assert subprocess.run(command, cwd=tmp_path, check=False).returncode == 0
