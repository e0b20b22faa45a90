"""docs/deploy.md and its files: commands that exist, metrics that exist, units that systemd takes."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
import yaml

from dcka.cli.entry import command_group
from dcka.monitor import NetworkState
from dcka.monitor.metrics import families

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "deploy.md").read_text("utf-8")
FOLDER = ROOT / "docs" / "deploy"
UNITS = sorted([*FOLDER.glob("*.service"), *FOLDER.glob("*.timer")])
PROGRAM = "/opt/dcka/.venv/bin/dcka"


def commands():
    """Every call of dcka that the page has, in blocks and in sentences, and that a unit makes."""
    blocks = re.findall(r"(?m)^    (dcka .*)$", PAGE)
    sentences = re.findall(r"`(dcka [a-z][^`]*)`", PAGE)
    units = [
        f"dcka {call}"
        for unit in UNITS
        for call in re.findall(rf"(?m)^ExecStart=.*{re.escape(PROGRAM)} (.*?)'?$", unit.read_text("utf-8"))
    ]
    assert len(blocks) > 5 and len(sentences) > 15 and len(units) == 4
    return sorted({*blocks, *sentences, *units})


def parse(words):
    """As the command line does it, without a verb being run."""
    group: click.Command = command_group()
    context = None
    while isinstance(group, click.Group) and words:
        context = group.make_context(group.name or "dcka", list(words), parent=context)
        words = [*context._protected_args, *context.args]
        if not words:
            return group.name
        _, group, words = group.resolve_command(context, words)
    group.make_context(group.name, list(words), parent=context).close()
    return group.name


@pytest.mark.parametrize("call", commands())
def test_every_command_is_one(call):
    words = shlex.split(re.sub(r"\$\$\(.*?\)", "1", call), comments=True)[1:]
    assert parse(words) in words


def test_a_command_that_is_none_would_be_found():
    for call in ("broker rotate", "broker renew --for 3", "monitor --metric 3", "broken up"):
        with pytest.raises(click.ClickException):
            parse(call.split())


def metric_names():
    state = NetworkState("net", (1,))
    return {
        family.name + {"counter": "_total", "info": "_info"}.get(family.type, "")
        for family in families(state, 0.0)
    }


def test_the_page_has_every_metric_and_none_that_does_not_exist():
    rows = re.findall(r"(?m)^\| (`dcka_.*?) \| ", PAGE)
    named = set(re.findall(r"`(dcka_[a-z_]+)`", " ".join(rows)))
    assert named == metric_names()
    assert set(re.findall(r"`(dcka_[a-z_]+)`", PAGE)) == named


def alerts():
    groups = yaml.safe_load((FOLDER / "dcka-alerts.yml").read_text("utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def test_alerts_ask_for_metrics_that_exist_and_are_explained():
    names = [rule["alert"] for rule in alerts()]
    for rule in alerts():
        used = set(re.findall(r"\b(dcka_[a-z_]+)", rule["expr"]))
        assert used <= metric_names() and (used or rule["expr"] == 'up{job="dcka"} == 0')
        assert rule["annotations"]["summary"].endswith(".")
    assert re.findall(r"(?m)^\| (Dcka\w+) \|", PAGE) == names
    prometheus = yaml.safe_load((FOLDER / "prometheus.yml").read_text("utf-8"))
    assert prometheus["scrape_configs"][0]["job_name"] == "dcka"
    (target,) = prometheus["scrape_configs"][0]["static_configs"][0]["targets"]
    assert f"--metrics {target.rpartition(':')[2]}\n" in (FOLDER / "dcka-monitor.service").read_text("utf-8")


def test_prometheus_takes_the_files():
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed here: it comes with prometheus")
    done = subprocess.run(
        [promtool, "check", "rules", FOLDER / "dcka-alerts.yml"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_systemd_takes_the_units(tmp_path):
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed here: it comes with systemd")
    for unit in UNITS:
        # It looks whether programs and pages are there.
        text = (
            unit.read_text("utf-8")
            .replace(PROGRAM, sys.executable)
            .replace("/opt/dcka/docs", str(FOLDER.parent))
        )
        (tmp_path / unit.name).write_text(text)
    done = subprocess.run(
        [analyze, "verify", "--man=no", *(tmp_path / unit.name for unit in UNITS)],
        capture_output=True,
        text=True,
    )
    ours = [line for line in (done.stdout + done.stderr).splitlines() if "dcka" in line]
    assert (done.returncode, ours) == (0, [])


def test_every_unit_is_hardened_and_on_the_page():
    for unit in UNITS:
        text = unit.read_text("utf-8")
        if unit.suffix == ".timer":
            assert unit.name in PAGE and unit.with_suffix(".service") in UNITS
            continue
        for line in (
            "User=dcka",
            "NoNewPrivileges=yes",
            "ProtectSystem=strict",
            "ProtectHome=yes",
            "UMask=0077",
        ):
            assert f"\n{line}\n" in text, (unit.name, line)
        if "WantedBy=multi-user.target" in text:
            assert "\nRestart=on-failure\n" in text and "SuccessExitStatus=143" in text and unit.name in PAGE


def test_every_file_of_the_page_is_there():
    named = set(re.findall(r"\b((?:dcka-[a-z]+|prometheus)\.(?:service|timer|yml))\b", PAGE))
    assert named and all((FOLDER / name).is_file() for name in named)
    for link in re.findall(r"\]\(([^)#]+)", PAGE):
        assert (ROOT / "docs" / link).exists(), link
