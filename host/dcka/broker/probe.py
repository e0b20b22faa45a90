"""Is there a broker, and does it let us in? One real CONNECT, and one sentence for each way to fail."""

import select
import socket
import threading
import time
import uuid
from typing import Any

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode
from paho.mqtt.reasoncodes import ReasonCode

from dcka.broker.encryption import BrokerContext, HandshakeError, broker_context, names_of
from dcka.broker.url import PASSWORD_VARIABLE, BrokerUrl
from dcka.errors import DckaError

# Ten seconds leave room for a slow name server or a lost SYN (repeated after 1 s and 3 s), and keep a command
# that only wants to know within 15 s.
TIMEOUT_S = 10.0

# To ask a broker once more, for the names that its certificate is for.
NAMES_S = 1.0

# How often a broker that is just starting is asked again.
RETRY_S = 0.1


class BrokerUnavailable(DckaError):
    """No use can be made of the broker; the subclasses say why."""


class NameUnknown(BrokerUnavailable):
    """The host's name has no address."""


class NotListening(BrokerUnavailable):
    """Nobody takes the TCP connection."""


class NoAnswer(BrokerUnavailable):
    """The TCP connection is taken, but no MQTT comes back."""


class NotAllowed(BrokerUnavailable):
    """The broker answered, and refuses us."""


class NotEncrypted(BrokerUnavailable):
    """Something listens there, and no encrypted connection can be had."""


class NotTrusted(NotEncrypted):
    """The broker's certificate does not show that it is the broker that was named."""


def probe(url: BrokerUrl, timeout: float = TIMEOUT_S) -> float:
    """Connect as a client would, and disconnect again; the seconds from the TCP connection to the answer.

    Of several addresses the first alone is asked. Takes `timeout` seconds at most, name look-up included.
    Raises `NameUnknown`, `NotListening`, `NoAnswer`, `NotAllowed` or `NotEncrypted`.
    """
    deadline = time.monotonic() + timeout
    url = url.addresses[0]
    answers: list[int] = []
    context = broker_context(url) if url.tls else None
    client = _client(url, answers, context)
    _open(client, url, deadline, context)
    begun = time.monotonic()
    try:
        status = MQTTErrorCode.MQTT_ERR_SUCCESS
        while not answers and status == MQTTErrorCode.MQTT_ERR_SUCCESS and (peer := client.socket()):
            left = deadline - time.monotonic()
            if left <= 0:
                raise NoAnswer(
                    f"{url}: takes the connection, but has given no MQTT answer within {timeout:g} s:"
                    " is another service on that port?"
                )
            # Not `client.loop`: its pair of wake-up sockets is closed by the garbage collector alone.
            select.select([peer], [], [], left)
            status = client.loop_read()
    finally:
        client.disconnect()
    if not answers:
        doubt = (
            "does it want a certificate of ours, too?"
            if url.tls
            else "and not one for encryption (mqtts://)?"
        )
        raise NoAnswer(
            f"{url}: ended the connection without an MQTT answer: is that port a broker's, {doubt}"
        )
    if answers[0] != 0:
        raise _refusal(url, answers[0])
    return time.monotonic() - begun


def await_broker(url: BrokerUrl, limit: float = TIMEOUT_S) -> BrokerUrl:
    """The first of the broker's addresses that lets us in: `probe` in turn, repeated for at most `limit` seconds
    while nobody answers, for a broker may be just starting.

    Raises the last failure, with how long was waited; what no waiting mends at once. Of several addresses, all are
    named, each with its own failure.
    """
    deadline = time.monotonic() + limit
    failures: dict[BrokerUrl, BrokerUnavailable] = {}
    left = list(url.addresses)
    while left:
        turn = tuple(left)
        for place, address in enumerate(turn):
            share = (deadline - time.monotonic()) / (len(turn) - place)
            try:
                probe(address, max(0.05, share))
            except (NotListening, NoAnswer) as error:
                failures[address] = error
            except BrokerUnavailable as error:
                failures[address] = error
                left.remove(address)
            else:
                return address
        if time.monotonic() + RETRY_S >= deadline:
            break
        if left:
            time.sleep(RETRY_S)
    raise _all_failed(failures, f" (tried for {limit:g} s)" if left else "")


def _all_failed(failures: dict[BrokerUrl, BrokerUnavailable], tried: str) -> BrokerUnavailable:
    """One failure out of those of all addresses; of its kind, where they are of one."""
    found = list(failures.values())
    kinds = {type(error) for error in found}
    kind = kinds.pop() if len(kinds) == 1 else BrokerUnavailable
    said = "; ".join(str(error) for error in found)
    if len(found) > 1:
        said = f"none of the broker's {len(found)} addresses can be used: {said}"
    return kind(said + tried)


def _client(url: BrokerUrl, answers: list[int], context: BrokerContext | None) -> mqtt.Client:
    """A client that puts the CONNACK's return code of MQTT 3.1.1 (0: accepted) into `answers`."""
    client = mqtt.Client(
        CallbackAPIVersion.VERSION2,
        client_id=f"dcka-probe-{uuid.uuid4().hex[:8]}",  # one of its own, or it would end another's session
        reconnect_on_failure=False,
    )

    def on_connect(_client: mqtt.Client, _data: Any, _flags: Any, reason: ReasonCode, _more: Any) -> None:
        answers.append(_RETURN_CODES.get(reason.value, reason.value))

    client.on_connect = on_connect
    if context is not None:
        client.tls_set_context(context)
    if url.username:
        client.username_pw_set(url.username, url.password)
    return client


# paho gives the reason codes of MQTT 5: the return codes 1 … 5 of 3.1.1 in these places.
_RETURN_CODES = {132: 1, 133: 2, 136: 3, 134: 4, 135: 5}


def _refusal(url: BrokerUrl, code: int) -> BrokerUnavailable:
    if code == 3:
        return NoAnswer(f"{url}: the broker says that it is not available now: try again")
    if code not in (4, 5):
        return NotAllowed(f"{url}: the broker refuses the connection (return code {code})")
    if not url.username:
        return NotAllowed(
            f"{url}: the broker wants a user name: write mqtt{'s' if url.tls else ''}://USER@HOST:PORT,"
            f" and set {PASSWORD_VARIABLE}"
        )
    if url.password is None:
        return NotAllowed(f"{url}: the broker wants a password for {url.username}: set {PASSWORD_VARIABLE}")
    if code == 4:
        return NotAllowed(f"{url}: wrong password for {url.username}: look at {PASSWORD_VARIABLE}")
    # mosquitto says "not authorised" for a wrong password too.
    return NotAllowed(
        f"{url}: the broker does not let {url.username} in: a wrong password ({PASSWORD_VARIABLE}),"
        " or no right to connect"
    )


def _open(client: mqtt.Client, url: BrokerUrl, deadline: float, context: BrokerContext | None) -> None:
    """Connect to the first of the host's addresses that takes the connection, and send CONNECT."""
    addresses = _addresses(url, deadline)
    begun = time.monotonic()
    for position, address in enumerate(addresses):
        left = max(0.01, deadline - time.monotonic())
        client.connect_timeout = left / (len(addresses) - position)
        if context is not None:
            # One half for the connection, the other for the handshake.
            context.handshake_s = client.connect_timeout = client.connect_timeout / 2
        try:
            client.connect(address, url.port)
            return
        except HandshakeError as error:
            raise _no_encryption(url, address, error) from error
        except OSError as error:
            failure = error
    if isinstance(failure, TimeoutError):
        raise NotListening(
            f"{url}: no connection within {time.monotonic() - begun:.1f} s: is that machine on, and does a"
            f" firewall let port {url.port} through?"
        ) from failure
    if isinstance(failure, ConnectionRefusedError):
        raise NotListening(f"{url}: nothing listens there: is the broker running?") from failure
    raise NotListening(f"{url}: cannot be reached: {failure.strerror or failure}") from failure


def _no_encryption(url: BrokerUrl, address: str, error: HandshakeError) -> BrokerUnavailable:
    if error.silent:
        return NoAnswer(str(error))
    if not error.distrusted:
        return NotEncrypted(str(error))
    names = names_of(url, address, NAMES_S) if error.other_name else []
    return NotTrusted(f"{error}: {', '.join(names)}" if names else str(error))


def _addresses(url: BrokerUrl, deadline: float) -> list[str]:
    """The host's addresses. A look-up has no time limit of its own: it runs in a thread that may be left."""
    found: list[str] = []
    failures: list[OSError | UnicodeError] = []

    def look_up() -> None:
        try:
            infos = socket.getaddrinfo(url.host, url.port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:  # UnicodeError: a label that is empty or too long
            failures.append(error)
        else:
            found.extend(dict.fromkeys(str(info[4][0]) for info in infos))

    thread = threading.Thread(target=look_up, name="name look-up", daemon=True)
    thread.start()
    thread.join(max(0.01, deadline - time.monotonic()))
    if found:
        return found
    reason = "no name server answers"
    if failures:
        reason = str(getattr(failures[0], "strerror", None) or failures[0])
    raise NameUnknown(
        f"{url}: the name {url.host} is not found ({reason}): check it and the network, or give the address"
    )
