"""What can be sent to the nodes: data on a grid, and readings that are on none yet."""

from typing import Any, ClassVar, Protocol


class Parcel(Protocol):
    """What is sent: a `Dataset`, or a `ReadingSet`."""

    file_name: ClassVar[str]

    @property
    def id(self) -> bytes:
        """The 8 bytes that name it."""

    @property
    def node_ids(self) -> tuple[int, ...]:
        """Whom it is for."""

    def rows(self, node: int) -> int:
        """The readings of a node."""

    def data_file(self, node: int) -> bytes:
        """The data file of a node."""

    def record(self) -> dict[str, Any]:
        """What is published of it."""
