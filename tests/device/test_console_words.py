"""What a board says, and the host's reading of it: the firmware's own lines, through `dcka.boards.joining`.

CPython only: the host's part does not run on a board.
"""

import pytest
import test_boot
import test_console
import test_guard
from bench import Folder, fresh, network
from wifi_bench import Case

from dcka.boards import joining
from dcka_core.voice import VERSION


def read(lines):
    return joining.wait_until_joined(iter(lines), 60)


def console_lines(*changes):
    """What the console says of a node that meets these changes one after the other."""
    case = test_console.Case()
    case.look()
    for change in changes:
        change(case)
        case.look()
    return list(case.lines)


def ready(case):
    case.connect()
    case.node.settled = True


def wifi_lines(limit, *points):
    """What the radio says within so many ms among these access points."""
    case = Case()
    for point in points:
        network.air.add(**point)
    case.run(limit)
    return ["dcka: " + line for line in case.lines]


HOME = {"ssid": "home", "password": "secret99"}


def test_a_node_that_joins_is_read_as_joined():
    radio = wifi_lines(10000, {**HOME, "channel": 11})
    node, *rest = console_lines(ready)
    assert read([node, *radio, *rest]) == joining.Joined(
        node=3,
        network="greenhouse",
        boot=12,
        firmware=VERSION,
        address="192.168.1.103",
        channel=11,
        broker="192.168.1.10:1883",
    )


@pytest.mark.parametrize(
    ("point", "error"),
    [
        ({**HOME, "password": "other678", "refusal": 15}, joining.WifiPasswordWrong),
        ({**HOME, "password": "other678", "refusal": 202}, joining.WifiPasswordWrong),
        ({**HOME, "ssid": "elsewhere"}, joining.AccessPointMissing),
        ({**HOME, "dhcp": False}, joining.WifiFailed),
        ({**HOME, "password": ""}, joining.WifiFailed),
    ],
)
def test_why_the_radio_failed_is_told_apart(point, error):
    # Within the minute that provisioning waits: it takes the same failure twice for it.
    with pytest.raises(error):
        read(wifi_lines(55000, point))


@pytest.mark.parametrize(
    ("reason", "client_error", "error"),
    [
        ("refused", None, joining.BrokerRefused),
        ("unreachable", None, joining.BrokerUnreachable),
        ("unknown host", None, joining.BrokerUnreachable),
        ("certificate", None, joining.CertificateWrong),
        ("clock", None, joining.ClockWrong),
        ("closed", None, joining.BrokerFailed),
        ("too slow", None, joining.BrokerFailed),
        ("closed", test_console.Answer(3), joining.BrokerFailed),
        ("closed", test_console.Answer(5), joining.LoginRefused),
    ],
)
def test_why_the_broker_failed_is_told_apart(reason, client_error, error):
    lines = console_lines(lambda case: case.fail(reason, 104, client_error))
    with pytest.raises(error):
        read(lines)


def test_every_word_for_the_broker_is_one_that_has_advice():
    for reason in ("refused", "unreachable", "unknown host", "certificate", "clock", "closed", "too slow"):
        assert reason in joining._BROKER_TROUBLE
    assert {"login", "unavailable"} < set(joining._BROKER_TROUBLE)


def test_a_crash_is_read_as_one():
    case = test_guard.Case()
    with Folder():
        case.run(test_guard.raising(ValueError("planted")))
    with pytest.raises(joining.NodeCrashed, match="ValueError: planted"):
        read([line for printed in case.lines for line in printed.split("\n")])


def test_safe_mode_is_read_as_such():
    clock = fresh()
    with Folder() as folder:
        folder.write("stop", "")
        stopped = test_boot.Start(clock).lines
        folder.write("failed.txt", "5")
        folder.remove("stop")
        looping = test_boot.Start(clock).lines
    with pytest.raises(joining.NodeStopped, match="remove that file"):
        read(stopped)
    with pytest.raises(joining.NodeStopped, match="came to nothing"):
        read(looping)
