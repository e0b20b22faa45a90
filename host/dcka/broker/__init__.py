"""Brokers: start one (`open_broker`), name one (`parse_broker_url`), ask one (`probe`, `await_broker`)."""

from pathlib import Path

from dcka.broker.base import Broker, BrokerError
from dcka.broker.embedded import EmbeddedBroker
from dcka.broker.mosquitto import MosquittoBroker
from dcka.broker.probe import (
    BrokerUnavailable,
    NameUnknown,
    NoAnswer,
    NotAllowed,
    NotEncrypted,
    NotListening,
    NotTrusted,
    await_broker,
    probe,
)
from dcka.broker.url import BrokerUrl, BrokerUrlError, parse_broker_url
from dcka.errors import UsageError

ENGINES: dict[str, type[Broker]] = {broker.engine: broker for broker in (EmbeddedBroker, MosquittoBroker)}

__all__ = [
    "ENGINES",
    "Broker",
    "BrokerError",
    "BrokerUnavailable",
    "BrokerUrl",
    "BrokerUrlError",
    "NameUnknown",
    "NoAnswer",
    "NotAllowed",
    "NotEncrypted",
    "NotListening",
    "NotTrusted",
    "await_broker",
    "open_broker",
    "parse_broker_url",
    "probe",
]


def open_broker(engine: str = "embedded", port: int | None = None, folder: Path | None = None) -> Broker:
    """A broker on loopback, not started yet: `with open_broker() as broker: … broker.url …`.

    `port` None: a free one. `folder` None: nothing is kept. Raises `UsageError` for an unknown engine.
    """
    if engine not in ENGINES:
        raise UsageError(f"there is no broker engine {engine!r}: choose {' or '.join(ENGINES)}")
    return ENGINES[engine](port, folder)
