"""Who is really there: a status that the broker kept may be of a node that has gone with an earlier broker."""

import os

from dcka.mqtt.connection import Connection, Message
from dcka.mqtt.inbox import Inbox
from dcka.mqtt.statuses import PayloadError, Statuses, read_object

# A node answers a chunk of data within milliseconds, on a slow radio within some tenths of a second.
ANSWER_S = 1.0


def chunk_of_nothing(transfer: int) -> bytes:
    """The second byte of a file whose first the node has not: it answers, and stores nothing (protocol, section 6)."""
    version_and_type, total, offset = 1 << 4 | 5, 100, 1
    return bytes([version_and_type]) + transfer.to_bytes(4, "little") + bytes([total, offset, 0])


def present(connection: Connection) -> tuple[Statuses, set[int]]:
    """What the nodes have said last, and who of those online gives a sign of life, within some ANSWER_S."""
    transfer = int.from_bytes(os.urandom(4), "little")
    answered: set[int] = set()

    def take(node: int, message: Message) -> None:
        if read_object(message.payload).get("transfer") != transfer:
            raise PayloadError("an answer to somebody else")
        answered.add(node)

    inbox = Inbox(connection, {"got": take})
    connection.subscribe("status/+", "got/+")
    inbox.until(lambda: False, ANSWER_S / 2, "status/+")
    claimed = {node for node in inbox.statuses.by_node if inbox.statuses.online(node)}
    for node in claimed:
        connection.publish(f"put/{node}", chunk_of_nothing(transfer))
    inbox.until(lambda: claimed <= answered, ANSWER_S if claimed else 0)
    return inbox.statuses, claimed & answered
