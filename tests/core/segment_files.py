"""A flash for segments in memory, on which a power cut may come at any byte."""

from io import BytesIO


class Cut(Exception):
    """The power is gone: the program ends here."""


class MemoryFiles:
    """size: bytes in all. broken: appends fail, whatever the room. cut_at: so many bytes can still be written, then
    the power goes in the midst of an append.
    """

    def __init__(self, size=1 << 20, cut_at=None):
        self.files = {}
        self.space = size
        self.cut_at = cut_at
        self.appends = 0
        self.broken = False

    def list(self):
        return list(self.files)

    def append(self, number, payload):
        self.appends += 1
        if self.broken:
            raise OSError(5)
        payload = bytes(payload)
        if self.cut_at is not None and len(payload) > self.cut_at:
            self.files[number] = self.files.get(number, b"") + payload[: self.cut_at]
            raise Cut
        if self.cut_at is not None:
            self.cut_at -= len(payload)
        if len(payload) > self.free():
            raise OSError(28)
        self.files[number] = self.files.get(number, b"") + payload

    def size(self, number):
        return len(self.files[number])

    def open(self, number):
        if number not in self.files:
            raise OSError(2)
        return BytesIO(self.files[number])

    def remove(self, number):
        if number not in self.files:
            raise OSError(2)
        del self.files[number]

    def free(self):
        return self.space - sum([len(content) for content in self.files.values()])
