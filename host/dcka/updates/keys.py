"""The network's key of updates: made once, kept in the state folder, given to each board as a key of its own."""

import secrets
from pathlib import Path

from dcka.broker.password_files import read_password_file
from dcka.config.state import State, write_whole
from dcka.errors import UsageError

KEY_BYTES = 32


def key_file(state: State) -> Path:
    """update.key: 64 hex digits, for its owner alone."""
    return state.folder / "update.key"


def network_key(state: State) -> bytes:
    """The key; made where there is none yet. Raises UsageError for a file that others may read, or that is no key."""
    file = key_file(state)
    if not file.exists():
        state.make_folder(state.folder)
        write_whole(file, secrets.token_hex(KEY_BYTES).encode() + b"\n", 0o600)
    return _read(file)


def known_key(state: State) -> bytes:
    """The key that boards have been given. Raises UsageError where none was made, and as `network_key`."""
    file = key_file(state)
    if not file.exists():
        raise UsageError(
            f"{file} is not there: no board of this network has a key of updates yet; give them one over the "
            f"cable, with dcka board provision --all, or bring the file from the computer that did it"
        )
    return _read(file)


def _read(file: Path) -> bytes:
    text = read_password_file(file)
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise UsageError(
            f"{file} holds no key of {2 * KEY_BYTES} hex digits: bring back the file as it was made"
        )
    return key
