"""The bytes of a file to lines of text: compression, encodings, line endings, and what is no text."""

import codecs
import difflib
import gzip
import re
import zlib
from dataclasses import dataclass
from pathlib import Path

from dcka.inject.errors import DataError

MAX_LINE = 100_000  # characters; a longer line is a file without line ends, or no table at all
MAX_BYTES = 1 << 30  # one file is read at once; 1 GiB of text is far above what a network of nodes holds

_GZIP = b"\x1f\x8b"
_NOT_TEXT = {
    b"PK\x03\x04": "an Excel workbook or another zip archive",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook",
    b"%PDF": "a PDF",
    b"PAR1": "a Parquet file",
    b"\x89HDF": "an HDF5 file",
}
# UTF-32 before UTF-16: its little-endian mark begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8", "UTF-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le", "UTF-32"),
    (codecs.BOM_UTF32_BE, "utf-32-be", "UTF-32"),
    (codecs.BOM_UTF16_LE, "utf-16-le", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16-be", "UTF-16"),
)


@dataclass(frozen=True)
class Source:
    """A file as lines without their ends; `encoding` as people call it."""

    name: str
    lines: list[str]
    encoding: str


def read_source(path: Path) -> Source:
    """Read the file, gzip or plain, in UTF-8, UTF-16, UTF-32 or (where it is none of them) Windows-1252.

    LF, CR LF and lone CR end a line, mixed as they come. Raises DataError where the file is not there,
    cannot be read, is empty, is no text, or has a line of `MAX_LINE` characters or more.
    """
    data = _bytes(path)
    if not data:
        raise DataError(f"{path} is empty: nothing to read")
    text, encoding = _decode(path, data)
    lines = re.split(r"\r\n|\r|\n", text)
    if lines[-1] == "":
        lines.pop()
    for number, line in enumerate(lines, 1):
        if len(line) >= MAX_LINE:
            raise DataError(
                f"{path}, line {number}: {len(line)} characters in one line, the limit is {MAX_LINE - 1}; "
                "a line of readings is far shorter, so check where the lines end"
            )
        if "\0" in line:
            raise DataError(
                f"{path}, line {number}: a zero byte, often the trace of a power cut while a logger wrote; "
                "remove the line"
            )
    return Source(path.name, lines, encoding)


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            head = file.read(4)
            data = head + file.read(MAX_BYTES + 1 - len(head))
        if head.startswith(_GZIP):
            with gzip.open(path) as unpacked:
                data = unpacked.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise DataError(f"{path}: no such file{_neighbour(path)}") from None
    except IsADirectoryError:
        raise DataError(f"{path} is a folder; name the CSV file in it") from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{path} is a damaged gzip file ({error}); copy it anew") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {(error.strerror or str(error)).lower()}") from None
    for magic, what in _NOT_TEXT.items():
        if data.startswith(magic):
            raise DataError(f"{path} is {what}, not a CSV; export it as CSV first")
    if len(data) > MAX_BYTES:
        raise DataError(f"{path} holds more than 1 GiB of text; split it, or take fewer readings")
    return data


def _neighbour(path: Path) -> str:
    if not path.parent.is_dir():
        return f", and no folder {path.parent} either"
    near = difflib.get_close_matches(path.name, [entry.name for entry in path.parent.iterdir()], 1)
    return "; did you mean %s?" % (path.parent / near[0]) if near else ""


def _decode(path: Path, data: bytes) -> tuple[str, str]:
    for mark, codec, name in _MARKS:
        if data.startswith(mark):
            try:
                return data[len(mark) :].decode(codec), name
            except UnicodeDecodeError as error:
                raise DataError(
                    f"{path} begins as {name}, but byte {error.start + len(mark)} breaks it "
                    f"({error.reason}); save the file anew as UTF-8"
                ) from None
    head = data[:4096]
    if len(head) >= 4 and head.count(0) * 3 > len(head):
        raise DataError(
            f"{path} looks like UTF-16 without a byte order mark ({head.count(0)} of its first {len(head)} "
            "bytes are zero); save it as UTF-8"
        )
    for codec, name in (("utf-8", "UTF-8"), ("cp1252", "Windows-1252")):
        try:
            return data.decode(codec), name
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            odd = data[error.start : error.start + 1].hex()
    raise DataError(
        f"{path}, line {line}: byte 0x{odd} is neither UTF-8 nor Windows-1252 text; save the file as UTF-8"
    )
