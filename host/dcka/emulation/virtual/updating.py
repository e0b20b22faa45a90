"""An update's messages on a simulated board, and what it says of its versions (protocol, section 9)."""

import json
from typing import TYPE_CHECKING, Any

from dcka_core.errors import CoreError, MessageError
from dcka_core.update import Update, refusal
from dcka_core.voice import VERSION

if TYPE_CHECKING:
    from dcka.emulation.virtual.board import Board


def answered(board: "Board", payload: bytes, intake: Any) -> tuple[bytes, bool]:
    """(the answer to a message of type 9, whether to start the new version now). The intake keeps what is under way.

    Raises MessageError for a malformed message.
    """
    if intake.update is None:
        intake.update = Update(board.versions, board.versions.facts, board.versions.key)
    start = False
    try:
        answer, start = intake.update.take(payload)
    except MessageError:
        raise
    except (CoreError, OSError) as error:
        answer = refusal(payload, str(error))
    return json.dumps(answer).encode(), start


def version_word(board: "Board") -> bytes:
    """What is retained on `version/<i>`."""
    said = {"v": 1, "node": board.id, "firmware": VERSION, **board.versions.standing()}
    return json.dumps(said).encode()
