"""What a node prints on its way into the network, and what a person is told."""

import pytest

from dcka.boards import joining
from dcka.boards.joining import GRACE_S, Joined, wait_until_joined

BOOT = ["MPY: soft reboot", "dcka: node 3 of greenhouse, boot 12, firmware 0.1.0"]
WIFI = [*BOOT, "dcka: wifi joining attic", "dcka: wifi joined 192.168.1.103 channel 6"]
BROKER = [*WIFI, "dcka: broker connecting 192.168.1.10:1883"]


class Clock:
    """A second passes with every look."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now += 1.0
        return self.now


def waited(lines, **options):
    return wait_until_joined(iter(lines), 60.0, Clock(), **options)


def test_a_node_that_is_ready_has_told_who_and_where_it_is():
    assert waited([*BROKER, "dcka: data 900 points", "dcka: ready"]) == Joined(
        3, "greenhouse", 12, "0.1.0", "192.168.1.103", 6, "192.168.1.10:1883"
    )


def test_what_comes_after_ready_is_not_read():
    lines = iter(["dcka: ready", "dcka: crash: later"])
    wait_until_joined(lines, 60.0)
    assert list(lines) == ["dcka: crash: later"]


def test_each_line_of_the_node_is_handed_on_and_each_line_is_a_turn():
    steps, turns = [], []
    waited([*BOOT, "", "dcka: ready"], on_step=steps.append, on_turn=lambda: turns.append(1))
    assert steps == ["node 3 of greenhouse, boot 12, firmware 0.1.0", "ready"]
    assert len(turns) == 4


def test_a_turn_may_end_the_wait():
    def give_up():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        waited(["", "dcka: ready"], on_turn=give_up)


@pytest.mark.parametrize(
    "why, kind, words",
    [
        ("wrong password", joining.WifiPasswordWrong, '"attic" refuses the password'),
        ("no access point", joining.AccessPointMissing, 'no access point "attic"'),
        ("no address", joining.WifiFailed, "DHCP"),
        ("cannot associate (205)", joining.WifiFailed, "205"),
    ],
)
def test_wifi_failures_are_told_apart_and_the_second_one_counts(why, kind, words):
    once = [*BOOT, "dcka: wifi joining attic", f"dcka: wifi failed: {why}"]
    assert waited([*once, "dcka: wifi joined 10.0.0.2 channel 1", "dcka: ready"]).address == "10.0.0.2"
    with pytest.raises(kind, match=words):
        waited([*once, "dcka: wifi joining attic", f"dcka: wifi failed: {why}", "dcka: ready"])


def test_a_single_wifi_failure_is_the_reason_at_the_end_of_the_time():
    with pytest.raises(joining.WifiPasswordWrong):
        waited([*BOOT, "dcka: wifi joining attic", "dcka: wifi failed: wrong password", ""])


def test_a_wifi_failure_is_forgotten_once_it_has_joined():
    with pytest.raises(joining.NodeSilent):
        waited([*BOOT, "dcka: wifi failed: wrong password", "dcka: wifi joined 10.0.0.2 channel 1", ""])


@pytest.mark.parametrize(
    "why, kind",
    [
        ("refused ([Errno 111] ECONNREFUSED)", joining.BrokerRefused),
        ("unreachable ([Errno 118] EHOSTUNREACH)", joining.BrokerUnreachable),
        ("unknown host (-2)", joining.BrokerUnreachable),
        ("clock", joining.ClockWrong),
        ("unavailable (refused by the broker)", joining.BrokerFailed),
        ("closed (timed out)", joining.BrokerFailed),
        ("too slow", joining.BrokerFailed),
        ("a word of later", joining.BrokerFailed),
    ],
)
def test_broker_failures_are_told_apart_after_a_grace_in_which_it_may_come(why, kind):
    failed = [*BROKER, f"dcka: broker failed: {why}"]
    waited([*failed, *[""] * (int(GRACE_S) - 2), "dcka: ready"])
    with pytest.raises(kind, match=r"the broker 192\.168\.1\.10:1883"):
        waited([*failed, *[""] * 2 * int(GRACE_S), "dcka: ready"])


@pytest.mark.parametrize(
    "why, kind", [("login", joining.LoginRefused), ("certificate (x)", joining.CertificateWrong)]
)
def test_what_trying_again_does_not_change_is_told_at_once(why, kind):
    with pytest.raises(kind):
        waited([*BROKER, f"dcka: broker failed: {why}", "dcka: ready"])


def test_a_crash_is_told_with_its_last_line():
    lines = [
        *BOOT,
        "Traceback (most recent call last):",
        '  File "dcka_device.shell", line 1, in main',
        "ValueError: boom",
        "dcka: crash: ValueError: boom",
    ]
    with pytest.raises(joining.NodeCrashed, match="ValueError: boom"):
        waited(lines)


def test_a_crash_before_the_guard_is_in_place_is_seen_by_the_prompt():
    lines = [
        "MPY: soft reboot",
        "Traceback (most recent call last):",
        '  File "main.py", line 21, in <module>',
        "ValueError: incompatible .mpy arch",
        "MicroPython v1.29.0 on 2026-06-01; Generic ESP32 module with ESP32",
    ]
    with pytest.raises(joining.NodeCrashed, match=r"incompatible \.mpy arch"):
        waited([*lines, "dcka: ready"])
    with pytest.raises(joining.NodeSilent, match=r"incompatible \.mpy arch"):
        waited(lines[:-1])


@pytest.mark.parametrize(
    "why, words",
    [
        ("there is a file /stop", "remove that file"),
        ("the BOOT button was pressed", "leave BOOT alone"),
        ("5 starts in a row came to nothing", "provisioning clears the count"),
    ],
)
def test_safe_mode_says_how_to_leave_it(why, words):
    with pytest.raises(joining.NodeStopped, match=words):
        waited([f"dcka: safe mode: {why}", "dcka: ready"])


def test_silence_is_told_with_the_last_line_or_without():
    with pytest.raises(joining.NodeSilent, match="within 60 s and said nothing"):
        waited([])
    with pytest.raises(joining.NodeSilent, match='its last line is "dcka: no data"'):
        waited(["dcka: no data", ""])
