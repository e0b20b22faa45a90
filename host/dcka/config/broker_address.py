"""The check of `[network] broker`: a URL as `dcka.broker.url` reads it, or the word `embedded`."""

from typing import TYPE_CHECKING

from dcka.config.checks import Check, Unfit

if TYPE_CHECKING:
    from dcka.broker.url import BrokerUrl

EMBEDDED = "embedded"


def broker_address(value: object) -> "BrokerUrl | None":
    """What a URL text, or a list of them, names, with the password of the environment; None for "embedded".

    Raises Unfit, with words that never hold a password.
    """
    if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
        value = ",".join(value)
    if not isinstance(value, str) or not value:
        raise Unfit
    if value == EMBEDDED:
        return None
    # Here, for it brings the MQTT client with it: most network files name no broker.
    from dcka.broker.url import BrokerUrlError, parse_broker_url

    try:
        return parse_broker_url(value)
    except BrokerUrlError as error:
        raise Unfit(f'{error}; or "{EMBEDDED}", the broker that dcka starts here') from error


def broker_check() -> Check:
    """The check of [network] broker and of `--broker`."""
    return Check('"embedded", a URL such as "mqtt://192.168.1.10:1883", or a list of them', broker_address)
