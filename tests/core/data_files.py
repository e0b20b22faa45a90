"""Data files as the protocol's section 6 has them, made without the code under test. Runs on every interpreter."""

from binascii import crc32
from hashlib import sha256


def little(values, width=2):
    """Whole numbers as little-endian bytes."""
    return b"".join([(value & (1 << 8 * width) - 1).to_bytes(width, "little") for value in values])


def block(numbers, number, width=2):
    """A block with its CRC-32."""
    content = little(numbers, width)
    return content + crc32(content, number).to_bytes(4, "little")


def finished(body):
    """The file whose digest is right."""
    return body + sha256(body).digest()


def data_file(
    numbers, n=2, bits=15, dataset=b"datasetA", extents=None, decimals=0, magic=b"DCKd", version=2, count=None
):
    """A data file of a flat list of points; with `bits` 32, of readings."""
    width = 4 if bits == 32 else 2
    body = magic + bytes([version, bits]) + little([n])
    body += little([len(numbers) // n if count is None else count], 4) + dataset
    body += bytes([decimals]) if bits == 32 else little(extents or [0] * n)
    per_block = 8192 // (n * width) * n
    cuts = range(0, len(numbers), per_block)
    pieces = [block(numbers[cuts[k] : cuts[k] + per_block], k, width) for k in range(len(cuts))]
    return finished(body + b"".join(pieces))
