"""Laws of the reader: what is written in any dialect is read back, and nothing but a refusal ever escapes."""

import csv
import gzip
import io
import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dcka.inject.csv_reader import read_csv
from dcka.inject.errors import DataError
from dcka.inject.number_text import LARGEST, parse, parse_column, why_not

quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
readings = st.floats(-LARGEST, LARGEST)
tables = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.lists(readings, min_size=width, max_size=width), min_size=1, max_size=12)
)


@quick
@given(
    rows=tables,
    dialect=st.sampled_from([(",", "."), (";", "."), (";", ","), ("\t", ","), ("|", "."), (" ", ".")]),
    line_end=st.sampled_from(["\n", "\r\n", "\r"]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    packed=st.booleans(),
)
def test_a_table_written_in_any_dialect_is_read_back_exactly(
    tmp_path, rows, dialect, line_end, encoding, quoting, packed
):
    delimiter, decimal = dialect
    text = io.StringIO()
    if delimiter == " ":
        quoting = csv.QUOTE_MINIMAL
    writer = csv.writer(text, delimiter=delimiter, lineterminator=line_end, quoting=quoting)
    names = [f"sensor_{place}" for place in range(len(rows[0]))]
    writer.writerow(names)
    writer.writerows([[repr(value).replace(".", decimal) for value in row] for row in rows])
    data = text.getvalue().encode(encoding)
    path = tmp_path / "readings.csv"
    path.write_bytes(gzip.compress(data) if packed else data)
    table = read_csv(path)
    assert table.columns == tuple(names)
    assert table.values.tolist() == rows
    assert table.report.rows == len(rows)


@quick
@given(
    data=st.binary(max_size=300)
    | st.text(alphabet="12.,;\t\n\r\" -e'aN\ufeffé", max_size=200).map(str.encode)
)
@pytest.mark.parametrize("missing", ["refuse", "drop"])
def test_any_bytes_are_refused_in_a_sentence_or_read_as_finite_numbers(tmp_path, missing, data):
    path = tmp_path / "readings.csv"
    path.write_bytes(data)
    try:
        table = read_csv(path, missing=missing)
    except DataError as refusal:
        assert "readings.csv" in str(refusal) and "\n" not in str(refusal)
        return
    assert table.values.shape == (len(table.lines), len(table.columns))
    assert len(table.values) >= 1
    assert np.isfinite(table.values).all()
    assert (np.diff(table.lines) > 0).all()


@given(
    text=st.text(max_size=12) | st.from_regex(re.compile(r"[ \t]*[-+]?[0-9.,_]{1,8}([eE][-+]?[0-9]{1,3})?"))
)
@settings(max_examples=300, deadline=None)
def test_the_grammar_takes_a_part_of_what_float_takes_with_the_same_value(text):
    value = parse(text, ".")
    if value is None:
        assert why_not(text, ".").isprintable()
        assert np.isnan(parse_column([text], ".")).all()
        return
    assert value == float(text)
    assert set(text) <= set("0123456789+-.eE \t")
    assert parse_column([text], ".").tolist() == [value]


@settings(deadline=None)
@given(value=st.floats(allow_nan=False, allow_infinity=False), sign=st.sampled_from(".,"))
def test_every_float_that_python_writes_is_read_back_to_the_bit(value, sign):
    assert parse(f"  {value!r}\t".replace(".", sign), sign) == value


@quick
@given(rows=st.lists(st.sampled_from(["1.5", "2", "nan", "", "x", "-7"]), min_size=1, max_size=20))
def test_every_line_is_a_row_a_dropped_row_or_blank(tmp_path, rows):
    path = tmp_path / "readings.csv"
    path.write_text("node,t\n" + "".join(f"n,{row}\n" for row in rows) + "n,1.25\n")
    table = read_csv(path, columns=["t"], missing="drop")
    dropped = [row.line for row in table.report.dropped]
    assert sorted(table.lines.tolist() + dropped) == list(range(2, len(rows) + 3))
    assert table.report.rows == len(table.values)
