"""A node's way into its network, read from what it prints (dcka_device/console.py, wifi.py, guard.py; boot.py)."""

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from dcka.boards.errors import BoardError

_NODE = re.compile(r"dcka: node (\d+) of (\S+), boot (\d+), firmware (\S+)")
_JOINED = re.compile(r"dcka: wifi joined (\S+)(?: channel (\d+))?")
_CONNECTING = "dcka: broker connecting "
_WIFI_JOINING = "dcka: wifi joining "
_WIFI_FAILED = "dcka: wifi failed: "
_BROKER_FAILED = "dcka: broker failed: "
# So a node says it that has several addresses of its broker.
_AT = re.compile(r"(.*) at (\S+:\d+)")
_CRASH = "dcka: crash: "
_SAFE = "dcka: safe mode: "
_TRACEBACK = "Traceback (most recent call last):"
_PROMPT = re.compile(r"MicroPython \S+ on .*|>>> ?")

# The radio is told "no such network" or "wrong password" for a moment's noise, too: the second time counts.
_WIFI_TRIES = 2
# A broker that is being started. The node tries again every two seconds, and says the same failure once a minute.
GRACE_S = 10.0


class JoinError(BoardError):
    """The node's files are in place, and it has not joined; says what to do."""


class WifiPasswordWrong(JoinError):
    """The access point refuses the password."""


class AccessPointMissing(JoinError):
    """No access point of that name in reach."""


class WifiFailed(JoinError):
    """The access point is there, and the node gets no further: no address, or no association."""


class BrokerRefused(JoinError):
    """The computer is there, and no broker listens."""


class BrokerUnreachable(JoinError):
    """The way to the broker's computer is not there, or its name is unknown."""


class CertificateWrong(JoinError):
    """The broker's certificate is not signed by the CA that the node has, or is for another name, or out of date."""


class ClockWrong(JoinError):
    """The node does not know the date, without which it cannot check a certificate."""


class LoginRefused(JoinError):
    """The broker does not accept the user or the password."""


class BrokerFailed(JoinError):
    """The broker answers, but not as one that lets a node in."""


class NodeCrashed(JoinError):
    """The node's program ended with an exception."""


class NodeStopped(JoinError):
    """The board does not start the node's program: safe mode."""


class NodeSilent(JoinError):
    """It did not get ready in time, and did not say why."""


@dataclass(frozen=True)
class Joined:
    """What a node that is ready has said of itself; `address` and `channel` where it has a radio."""

    node: int | None = None
    network: str | None = None
    boot: int | None = None
    firmware: str | None = None
    address: str | None = None
    channel: int | None = None
    broker: str | None = None


def wait_until_joined(
    lines: Iterator[str],
    timeout_s: float,
    clock: Callable[[], float] = time.monotonic,
    on_step: Callable[[str], None] = lambda step: None,
    on_turn: Callable[[], None] = lambda: None,
) -> Joined:
    """Read `lines` until the node is ready: they have to end by themselves, and to be "" now and then where none comes.

    `on_step` is given each line of the node's own; `on_turn` is called for every line, and may raise to give up.
    Raises a JoinError: at once where it is certain, for Wi-Fi at the second failure, for the broker after `GRACE_S` of
    trying; NodeSilent where the lines end.
    """
    reader = _Reader(clock, timeout_s)
    for line in lines:
        on_turn()
        if line.startswith("dcka: "):
            on_step(line.removeprefix("dcka: "))
        if reader.ready(line):
            return reader.joined
        reader.check_grace()
    raise reader.trouble or NodeSilent(reader.silence())


class _Reader:
    """What has been said so far. `trouble`: the failure that ends the wait when its grace is over."""

    def __init__(self, clock: Callable[[], float], timeout_s: float) -> None:
        self.joined = Joined()
        self.trouble: JoinError | None = None
        self._clock = clock
        self._timeout_s = timeout_s
        self._since = 0.0
        self._ssid = "?"
        self._wifi_failures: dict[str, int] = {}
        self._in_traceback = False
        self._exception = ""
        self._last = ""

    def ready(self, line: str) -> bool:
        """Take a line in. Raises JoinError where it settles the matter."""
        self._last = line or self._last
        self._read_traceback(line)
        if found := _NODE.match(line):
            self.joined = replace(
                self.joined, node=int(found[1]), network=found[2], boot=int(found[3]), firmware=found[4]
            )
        elif found := _JOINED.match(line):
            channel = int(found[2]) if found[2] else None
            self.trouble = None
            self.joined = replace(self.joined, address=found[1], channel=channel)
        elif line.startswith(_CONNECTING):
            self.joined = replace(self.joined, broker=line.removeprefix(_CONNECTING))
        elif line.startswith(_WIFI_JOINING):
            self._ssid = line.removeprefix(_WIFI_JOINING)
        else:
            self._read_failure(line)
        return line == "dcka: ready"

    def check_grace(self) -> None:
        """Raises the trouble that has lasted."""
        if self.trouble is not None and self._clock() - self._since > GRACE_S:
            raise self.trouble

    def silence(self) -> str:
        """What to say where no reason is known."""
        if self._exception:
            return _crashed(self._exception)
        where = f'; its last line is "{self._last[:120]}"' if self._last else " and said nothing"
        return (
            f"the node was not ready within {self._timeout_s:g} s{where}: it may still get there; "
            f"follow it with dcka board logs"
        )

    def _read_failure(self, line: str) -> None:
        if line.startswith(_CRASH):
            raise NodeCrashed(_crashed(line.removeprefix(_CRASH)))
        if line.startswith(_SAFE):
            raise NodeStopped(_stopped(line.removeprefix(_SAFE)))
        if line.startswith(_WIFI_FAILED):
            why = line.removeprefix(_WIFI_FAILED)
            self._wifi_failures[why] = self._wifi_failures.get(why, 0) + 1
            self.trouble, self._since = _wifi_error(why, self._ssid), float("inf")
            if self._wifi_failures[why] >= _WIFI_TRIES:
                raise self.trouble
        elif line.startswith(_BROKER_FAILED):
            why = line.removeprefix(_BROKER_FAILED)
            self.trouble, self._since = (
                _broker_error(why, f"the broker {self.joined.broker or ''}".strip()),
                self._clock(),
            )
            if isinstance(self.trouble, LoginRefused | CertificateWrong):
                raise self.trouble
        elif self._exception and _PROMPT.fullmatch(line):
            raise NodeCrashed(_crashed(self._exception))

    def _read_traceback(self, line: str) -> None:
        """Remember the exception of a traceback: one that comes before our guard is in place has no line of ours."""
        if line == _TRACEBACK:
            self._in_traceback = True
        elif self._in_traceback and not line.startswith("  "):
            self._in_traceback = False
            self._exception = line


def _crashed(last: str) -> str:
    return (
        f"the node crashed: {last}. dcka board logs shows the whole traceback (with line numbers if the board is "
        f"provisioned with --source); please report it if the firmware is unchanged"
    )


def _stopped(why: str) -> str:
    if "/stop" in why:
        return f"the node was not started ({why}): remove that file from the board, or erase it with dcka board flash"
    if "BOOT" in why:
        return f"the node was not started ({why}): press its reset button and leave BOOT alone"
    return (
        f"the node was not started ({why}): dcka board logs shows what it says; provisioning clears the count"
    )


def _wifi_error(why: str, ssid: str) -> JoinError:
    if why == "wrong password":
        return WifiPasswordWrong(
            f'the access point "{ssid}" refuses the password: provision again with the right one (DCKA_WIFI_PASSWORD, '
            f"--wifi-password-file or the prompt)"
        )
    if why == "no access point":
        return AccessPointMissing(
            f'no access point "{ssid}" is in reach: check [wifi] ssid in network.toml, letter by letter; an ESP32 has '
            f"2.4 GHz alone (the C5 has 5 GHz, too)"
        )
    if why == "no address":
        return WifiFailed(
            f'the access point "{ssid}" gave the node no address: is its DHCP on? If not, set [wifi] first_address'
        )
    return WifiFailed(
        f'the node cannot join "{ssid}" ({why}): is it WPA2 or WPA3 personal, and in good reach?'
    )


def _broker_error(why: str, broker: str) -> JoinError:
    if found := _AT.fullmatch(why):
        why, broker = found[1], f"the broker {found[2]}"
    word = why.partition(" (")[0]
    kind, advice = _BROKER_TROUBLE.get(word, (BrokerFailed, "see the broker's log"))
    return kind(f"{broker} fails the node ({why}): {advice}")


_BROKER_TROUBLE: dict[str, tuple[type[JoinError], str]] = {
    "refused": (
        BrokerRefused,
        "no broker listens there: start it, check the port, and that it listens on more than 127.0.0.1",
    ),
    "unreachable": (
        BrokerUnreachable,
        "no way leads there from the node's network: check the address, and the firewall of that computer",
    ),
    "unknown host": (
        BrokerUnreachable,
        "the node's network does not know this name: give an address such as mqtt://192.168.1.10",
    ),
    "certificate": (
        CertificateWrong,
        "the broker's certificate is not signed by [network] ca, is for another name, or is out of date",
    ),
    "clock": (ClockWrong, "the node has no time yet, for which it asks an NTP server: is the internet in its reach?"),
    "login": (
        LoginRefused,
        "it does not know the user, or the password is another: provision again with DCKA_BROKER_PASSWORD set anew",
    ),
    "unavailable": (BrokerFailed, "it is there and takes no clients: see the broker's log"),
    "closed": (BrokerFailed, "it closes the connection: is this a broker's port, with or without TLS as the URL says?"),
    "too slow": (BrokerFailed, "its answers take too long: is the radio link weak, or the broker overloaded?"),
}  # fmt: skip
