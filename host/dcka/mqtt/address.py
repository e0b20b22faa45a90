"""Which broker a verb speaks to: the one that is named, the network file's, or the one that `dcka broker` runs here.

`dcka broker` notes its URL in `broker.json` of the state folder, and takes the note away when it ends.
"""

from pathlib import Path

from dcka.broker import BrokerUnavailable, BrokerUrl, parse_broker_url, probe
from dcka.broker.url import BrokerUrlError
from dcka.config import Config, State
from dcka.config.broker_address import EMBEDDED
from dcka.errors import UsageError

PROBE_S = 2.0  # the noted broker is on this machine
_START = "start one with dcka broker, and leave it running, or pass --broker URL"


def note_file(state: State) -> Path:
    """broker.json: `v` 1, `url`, `pid` of the broker that was started for this network."""
    return state.folder / "broker.json"


def note_broker(state: State, url: BrokerUrl, pid: int) -> None:
    """Say where the broker listens that was started for this network. Raises StateError."""
    state.write(note_file(state), {"v": 1, "url": str(url), "pid": pid})


def forget_broker(state: State, pid: int) -> None:
    """Take the note away, if it still is that of the process `pid`."""
    note = state.read(note_file(state))
    if isinstance(note, dict) and note.get("pid") == pid:
        note_file(state).unlink(missing_ok=True)


def broker_of(config: Config, state: State, explicit: str | None = None) -> BrokerUrl:
    """The broker that `--broker` names (`explicit`), or the network file, or the one noted in the state folder.

    An encrypted one is verified by the network file's `ca`, where it has one.

    Raises BrokerUrlError for a text that names none, UsageError where there is none to speak to.
    """
    if explicit is not None and explicit.strip() != EMBEDDED:
        return parse_broker_url(explicit).trusting(config.network.ca)
    if explicit is None and config.network.broker is not None:
        return config.network.broker
    return _noted(state)


def _noted(state: State) -> BrokerUrl:
    note = state.read(note_file(state))
    if note is None:
        raise UsageError(f"no broker of this network runs here: {_START}")
    try:
        url = parse_broker_url(str(note["url"]) if isinstance(note, dict) else "")
    except (KeyError, BrokerUrlError) as error:
        raise UsageError(f"{note_file(state)} names no broker ({error}): {_START}") from error
    try:
        probe(url, PROBE_S)
    except BrokerUnavailable as error:
        raise UsageError(f"the broker of this network does not run any more ({error}): {_START}") from error
    return url
