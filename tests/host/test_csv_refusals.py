"""What cannot be read: one sentence that names the place and the value, and the way out."""

import gzip
import os
import re
from pathlib import Path

import pytest

from dcka.inject.csv_reader import read_csv
from dcka.inject.errors import DataError

UTF_16 = "temp,hum\r\n21.5,40.1\r\n22.0,41.2\r\n".encode("utf-16-le")
WIDE = ",".join(f"c{place}" for place in range(513)) + "\n" + ",".join(["1.5"] * 513) + "\n"

REFUSED = {
    "empty": (b"", {}, ["is empty"]),
    "mark only": (b"\xef\xbb\xbf", {}, ["holds only blank lines"]),
    "blank": (b"\n \n,,\n", {}, ["holds only blank lines"]),
    "header only": (b"temp,hum\n", {}, ["header (temp, hum)", "no readings"]),
    "header only, told": (b"1,2\n", {"header": True}, ["header (1, 2)", "leave --header out"]),
    "short row": (b"temp,hum\n1,2\n3\n4,5\n", {}, ["line 3: 1 cell where line 1 has 2", '"3"', "mend"]),
    "long row": (b"temp,hum\n1,2\n3,4,5\n", {}, ["line 3: 3 cells where line 1 has 2", '"3,4,5"']),
    "commas both": (b"t,h\n21,5,40,1\n22,5,41,2\n", {}, ["line 2: 4 cells", "--decimal ,"]),
    "title": (
        b"Station X\ntemp,hum\n1.5,40.5\n2.5,41.5\n",
        {},
        ["line 2: 2 cells where line 1 has 1", "if line 1 is a title"],
    ),
    "text": (b"temp,hum\n1,2\nabc,3\n4,5\n", {}, ['line 3, column "temp": "abc" is not a number']),
    "no reading": (
        b"temp,h\nnan,1\n21,2\n,3\n22,4\n",
        {},
        ['line 2, column "temp": "nan"', "2 such rows in all"],
    ),
    "empty cell": (b"temp,h\n21,1\n,2\n22,3\n", {}, ['line 3, column "temp": the cell is empty']),
    "too large": (b"v,w\n2,1\n1e39,2\n", {"missing": "drop"}, ['line 3, column "v": "1e39" is beyond']),
    "sign of its own": (b"a;b\n1.5;2\n2,5;3\n3.5;4\n", {}, ['line 3, column "a": "2,5" has a decimal comma']),
    "first line unclear": (
        b"temp,2021\n1.5,2\n2.5,3\n",
        {},
        ['line 1: "temp"', '"2021"', "--header", "--no-header"],
    ),
    "no numbers": (b"a,b\nx,2024-01-01\ny,2024-01-02\n", {}, ["a (text), b (date or time)", "--columns"]),
    "all left out": (b"a,b\nx,1\ny,2\n", {"columns": ["a"], "missing": "drop"}, ['line 2 (a: "x")']),
    "open quote": (b't,h\n1,2\n"3,4\n5,6\n', {}, ["line 3: a quote opens and never closes"]),
    "text after a quote": (b't,h\n"1"x,2\n', {}, ["line 2: text follows a closed quote"]),
    "513 columns": (WIDE.encode(), {}, ["513 columns", "at most 512", "--columns"]),
    "long line": (b"t,h\n1,2\n" + b"3" * 102_400 + b",4\n", {}, ["line 3: 102402 characters"]),
    "zero byte": (b"t,h\n1,2\n\0\n3,4\n5,6\n7,8\n", {}, ["line 3: a zero byte"]),
    "UTF-16 unmarked": (UTF_16, {}, ["looks like UTF-16 without a byte order mark", "UTF-8"]),
    "UTF-16 broken": (b"\xff\xfe1", {}, ["begins as UTF-16", "UTF-8"]),
    "no text": (b"t,h\n1,\x81\x8d\n", {}, ["line 2: byte 0x81", "UTF-8"]),
    "workbook": (b"PK\x03\x04\x14\0\x06", {}, ["Excel", "CSV"]),
    "gzip cut": (gzip.compress(b"t,h\n1,2\n" * 99)[:-9], {}, ["damaged gzip"]),
    "gzip changed": (b"\x1f\x8babcdefghij", {}, ["damaged gzip"]),
    "unknown column": (
        b"temperature,humidity\n1,2\n",
        {"columns": ["temprature"]},
        ['"temperature"', "humidity"],
    ),
    "unknown split": (b"Mote,t\n1,2\n", {"split_by": "mote"}, ['no column "mote"; did you mean "Mote"?']),
    "unknown label": (b"m,t\n1,2\n", {"label": "zzz"}, ['no column "zzz". Its columns: m, t']),
    "two of a name": (b"temp,temp\n1,2\n", {}, ['columns 1 and 2 are both named "temp"']),
    "asked twice": (b"t,h\n1,2\n", {"columns": ["t", "t"]}, ['"t" is named twice']),
    "asked for none": (b"t,h\n1,2\n", {"columns": []}, ["no column is named"]),
    "split cell empty": (b"m,t\na,1\n ,2\n", {"split_by": "m"}, ['line 3, column "m": the cell is empty']),
    "delimiter": (b"t\n1\n", {"delimiter": "ab"}, ['delimiter "ab"', "semicolon"]),
    "delimiter of digits": (b"t\n1\n", {"delimiter": "1"}, ['delimiter "1"']),
    "decimal": (b"t\n1\n", {"decimal": ":"}, ['decimal sign ":"']),
    "missing": (b"t\n1\n", {"missing": "ignore"}, ['missing "ignore"', '"refuse" or "drop"']),
    "control characters": (b"t,h\n1,\x1b[31mx\n2,3\n4,5\n", {}, [r'"\x1b[31mx" is not a number']),
}


def refusal_of(folder, what):
    """What the content of `what` is refused with, the file named as a person in its folder would."""
    content, options, _ = REFUSED[what]
    path = folder / "readings.csv"
    path.write_bytes(content)
    with pytest.raises(DataError) as refusal:
        read_csv(path, **options)
    assert refusal.value.exit_code == 2
    return str(refusal.value).replace(str(path), path.name)


@pytest.mark.parametrize("what", REFUSED)
def test_a_refusal_is_one_line_that_names_what_and_where(tmp_path, what):
    message = refusal_of(tmp_path, what)
    for word in REFUSED[what][2]:
        assert word in message
    assert message.isprintable()


def test_the_words_in_the_documentation_are_those_that_are_said(tmp_path):
    text = (Path(__file__).parents[2] / "docs" / "data.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^\|[^|]*\| `(readings\.csv\b.*)` \|$", text, flags=re.MULTILINE))
    elsewhere = {one for one in documented if "split column" in one or "permission" in one or "gz is" in one}
    assert len(documented - elsewhere) > 20
    assert documented - elsewhere <= {refusal_of(tmp_path, what) for what in REFUSED}


def test_a_missing_file_names_its_neighbour(tmp_path):
    (tmp_path / "readings.csv").write_text("t\n1\n")
    with pytest.raises(DataError, match=r"reading\.csv: no such file; did you mean .*readings\.csv\?"):
        read_csv(tmp_path / "reading.csv")
    with pytest.raises(DataError, match=r"no such file, and no folder .*nowhere either"):
        read_csv(tmp_path / "nowhere" / "x.csv")


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(DataError, match="is a folder"):
        read_csv(tmp_path)


@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="needs a file that opens and cannot be read")
def test_a_file_that_cannot_be_read_says_why():
    with pytest.raises(DataError, match="cannot be read: input/output error"):
        read_csv("/proc/self/mem")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read every file")
def test_a_file_without_permission_says_so(tmp_path):
    path = tmp_path / "readings.csv"
    path.write_text("t\n1\n")
    path.chmod(0)
    with pytest.raises(DataError, match="cannot be read: permission denied"):
        read_csv(path)


def test_a_name_too_long_for_the_file_system_says_so(tmp_path):
    with pytest.raises(DataError, match="cannot be read: file name too long"):
        read_csv(tmp_path / ("x" * 300))
