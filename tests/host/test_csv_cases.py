"""Files as people really have them: what is read, what is left out, and what is said about it."""

import numpy as np
import pytest

from dcka.inject.csv_reader import read_csv
from dcka.inject.errors import DataError
from dcka.inject.report import Excluded

STATION = (
    "Date;Time;CO;T;RH;;\n10/03/2004;18.00.00;2,6;13,6;48,9;;\n10/03/2004;19.00.00;-200;13,3;47,7;;\n"
    "10/03/2004;20.00.00;2,2;11,9;54,0;;\n;;;;;;\n;;;;;;\n"
)
NO_NUMBERS = ["nan", "NaN", "inf", "Infinity", "1_000", "１２", "N/A", "#DIV/0!", "null", "-", "−5"]


@pytest.fixture
def read(tmp_path):
    """Write text or bytes to a file, and read it."""

    def write_and_read(content, **options):
        path = tmp_path / "readings.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_csv(path, **options)

    return write_and_read


def test_european_station_file_with_a_declared_marker(read):
    table = read(STATION, missing_marker=["-200"])
    assert table.columns == ("CO", "T", "RH")
    assert table.values.tolist() == [[2.6, 13.6, 48.9], [2.2, 11.9, 54.0]]
    assert table.lines.tolist() == [2, 4]
    assert table.values[:, 1].mean() == 12.75
    assert [tuple(row) for row in table.report.dropped] == [(3, "CO", "-200")]
    assert (table.report.blank, table.report.delimiter, table.report.decimal) == (2, ";", ",")
    assert table.report.excluded == (
        Excluded("Date", "date or time"),
        Excluded("Time", "date or time"),
        Excluded("column 6", "no name"),
        Excluded("column 7", "no name"),
    )
    assert not table.report.warnings


def test_a_reading_far_outside_the_rest_is_pointed_out(read):
    (warning,) = read(STATION).report.warnings
    assert "-200" in warning and '"CO" (1 time, others 2.2 to 2.6)' in warning
    assert "--missing-marker -200" in warning


def test_a_true_negative_is_kept_without_a_word(read):
    table = read(STATION.replace("-200", "-20,5"))
    assert table.values[1].tolist() == [-20.5, 13.3, 47.7]
    assert not table.report.warnings


def test_a_switch_of_zeros_and_ones_is_no_marker(read):
    table = read("door,t\n" + "0,20.5\n1,20.6\n" * 9)
    assert table.report.warnings == ()


def test_a_usual_marker_within_the_spread_of_the_others_is_a_reading(read):
    assert read("t\n20.5\n40\n61\n85\n-99\n", columns=["t"]).report.warnings == ()


@pytest.mark.parametrize("marker", ["-200", "-200.0", " -2e2 "])
def test_a_marker_is_known_however_the_number_is_written(read, marker):
    table = read("t,h\n1,2\n-200,3\n4,5\n", missing_marker=[marker])
    assert table.values.tolist() == [[1, 2], [4, 5]]


def test_a_marker_of_text_and_one_that_never_occurs(read):
    table = read("t,h\n1,2\nfault,3\n4,5\n", missing_marker=["fault"])
    assert [tuple(row) for row in table.report.dropped] == [(3, "t", "fault")]
    assert '"-999"' in read("t,h\n1,2\n3,4\n", missing_marker=["-999"]).report.warnings[0]


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbftemp,hum\r\n21.5,40.1\r\n22.0,41.2\r\n",
        b"sep=;\r\ntemp;hum\r\n21.5;40.1\r\n22.0;41.2\r\n",
        b"\xef\xbb\xbfsep=\t\r\ntemp\thum\r\n21.5\t40.1\r\n22.0\t41.2\r\n",
        b"\xff\xfe" + "temp,hum\r\n21.5,40.1\r\n22.0,41.2\r\n".encode("utf-16-le"),
        b"\xfe\xff" + "temp,hum\r\n21.5,40.1\r\n22.0,41.2\r\n".encode("utf-16-be"),
        b"\xff\xfe\0\0" + "temp,hum\r\n21.5,40.1\r\n22.0,41.2\r\n".encode("utf-32-le"),
    ],
)
def test_byte_order_marks_and_the_line_that_excel_writes(read, content):
    table = read(content, columns=["temp", "hum"])
    assert [len(name) for name in table.columns] == [4, 3]
    assert table.values.tolist() == [[21.5, 40.1], [22.0, 41.2]]


def test_a_file_without_a_header_keeps_its_first_measurement(read):
    table = read("21.5,40.1\n22.0,41.2\n22.5,39.9\n")
    assert (table.columns, len(table.values), table.lines[0]) == (("c1", "c2"), 3, 1)
    assert "--header" in table.report.warnings[0]
    assert read("21.5,40.1\n22.0,41.2\n", header=False).report.warnings == ()


def test_a_header_of_digits_alone_is_taken_when_told(read):
    table = read("2021,2022\n1.0,2.0\n", header=True)
    assert (table.columns, table.values.tolist()) == (("2021", "2022"), [[1.0, 2.0]])
    assert read("2021,2022\n1.0,2.0\n").values.tolist() == [[2021, 2022], [1, 2]]


def test_a_missing_first_reading_makes_no_header(read):
    table = read("nan,40.1\n22.0,41.2\n22.5,39.9\n", missing="drop")
    assert (table.columns, table.lines.tolist()) == (("c1", "c2"), [2, 3])


@pytest.mark.parametrize("cell", [*NO_NUMBERS, "", "1,5", "0x10", "1e", "+-1", "1 000", "1.2.3", "٣"])
def test_what_python_calls_a_number_is_refused_with_line_and_value(read, cell):
    with pytest.raises(DataError, match=r'^readings\.csv, line 3, column "temp": ') as refusal:
        read(f"node;temp\nn1;20.5\nn2;{cell}\nn3;21\n")
    assert (f'"{cell}"' if cell else "the cell is empty") in str(refusal.value)
    assert "--missing drop" in str(refusal.value)


@pytest.mark.parametrize("one_column", [True, False])
def test_only_the_true_number_of_them_is_read_and_the_others_are_counted(read, one_column):
    cells = [*NO_NUMBERS, "", " 21.5 "]
    rows = cells if one_column else [f"n{place},{cell}" for place, cell in enumerate(cells)]
    table = read("\n".join(["temp" if one_column else "node,temp", *rows]) + "\n", missing="drop")
    assert (table.columns, table.values.tolist(), table.lines.tolist()) == (("temp",), [[21.5]], [14])
    assert [row.text for row in table.report.dropped] == cells[:-1]
    assert [row.line for row in table.report.dropped] == list(range(2, 14))


def test_how_many_rows_a_refusal_is_about_is_said(read):
    with pytest.raises(DataError, match=r"line 3.*2 such rows in all"):
        read("temp,hum\n1,2\n,3\n4,\n5,6\n")


def test_lists_in_cells_do_not_hide_the_delimiter(read):
    content = "node;temp;tags;hum\nn1;21.5;['a', 'b'];40.1\nn2;22.0;['c', 'd'];41.2\nn3;22.5;[];39.9\n"
    table = read(content)
    assert table.columns == ("temp", "hum")
    assert table.values.T.tolist() == [[21.5, 22.0, 22.5], [40.1, 41.2, 39.9]]
    assert [column.column for column in table.report.excluded] == ["node", "tags"]


def test_blanks_within_cells_do_not_part_them(read):
    table = read("first name;temp;last name\n1 a;21.5;b 2\n3 c;22.0;d 4\n")
    assert (table.columns, table.values.tolist()) == (("temp",), [[21.5], [22.0]])


def test_blanks_around_numbers_are_those_of_ascii_alone(read):
    with pytest.raises(DataError, match="is written with NO-BREAK SPACE"):
        read("n;temp\na;20.5\nb;21.5\u00a0\n")


def test_one_column(read):
    assert read("temp\n21.5\n22.0\n").values.tolist() == [[21.5], [22.0]]
    assert read("temp\n21,5\n22,0\n").values.tolist() == [[21.5], [22.0]]


def test_decimal_commas_in_part_of_the_cells(read):
    table = read("temp;hum\n21,5;40,1\n22;41,2\n22,5;39\n")
    assert table.values.T.tolist() == [[21.5, 22, 22.5], [40.1, 41.2, 39]]


def test_decimal_commas_far_down_the_file_are_seen(read):
    table = read("temp;hum\n" + "21;40\n" * 500 + "21,5;40\n")
    assert table.values[-1].tolist() == [21.5, 40]


def test_quoted_decimal_commas_between_commas(read):
    table = read('temp,"hum, relative"\n"21,5","40,1"\n"22,0","41,2"\n')
    assert table.columns == ("temp", "hum, relative")
    assert table.values.tolist() == [[21.5, 40.1], [22.0, 41.2]]


def test_commas_that_may_mark_thousands_are_pointed_out(read):
    (warning,) = read("pa;t\n101,325;20\n101,300;21\n").report.warnings
    assert '"pa"' in warning and "101,325 is 101.325" in warning


def test_mixed_line_ends_and_no_last_one(read):
    rows = [[21.5, 40.1], [22.0, 41.2], [22.5, 39.9], [23.0, 38.0]]
    mixed = read(b"temp,hum\r\n21.5,40.1\r\n22.0,41.2\n22.5,39.9\r23.0,38.0")
    assert (mixed.values.tolist(), mixed.lines.tolist()) == (rows, [2, 3, 4, 5])
    assert read(b"temp,hum\r21.5,40.1\r22.0,41.2\r22.5,39.9\r23.0,38.0").values.tolist() == rows


def test_repeated_rows_are_kept_and_said_to_be_repeated(read):
    table = read("temp,hum\n" + "21.5,40.1\n" * 3)
    assert (len(table.values), table.report.repeated) == (3, 2)
    assert any("2 rows repeat" in sentence for sentence in table.report.sentences())


def test_numbers_beyond_single_precision_are_refused_under_either_rule(read):
    large = [2e19, -2e19, 2.1e19, -2.1e19]
    assert read("v\n2e19\n-2e19\n2.1e19\n-2.1e19\n").values[:, 0].tolist() == large
    for cell in ("1e39", "-1e400", "9" * 400):
        for missing in ("refuse", "drop"):
            with pytest.raises(DataError, match=r'^readings\.csv, line 3, column "w": .* is beyond ±3\.4e38'):
                read(f"v,w\n1,2\n3,{cell}\n", missing=missing)
    assert read("v,w\n1,2\n3,1e39\n", missing_marker=["1e39"]).values.tolist() == [[1, 2]]


def test_ids_and_times_are_not_taken_without_a_word(read):
    table = read("id,temp\n16777216,20.1\n16777217,35.2\n16777218,20.3\n")
    assert len(np.unique(table.values[:, 0])) == 3
    assert '"id" goes up by one' in table.report.warnings[0]
    content = "ts,temp\n1700000000,20.1\n1700000060,35.2\n1700000120,20.3\n"
    table = read(content)
    assert table.columns == ("temp",)
    assert table.report.excluded == (Excluded("ts", "date or time, in seconds since 1970"),)
    assert read(content, columns=["ts"]).values[:, 0].tolist() == [1700000000, 1700000060, 1700000120]


@pytest.mark.parametrize(
    "moment",
    [
        "2024-03-01",
        "2024-03-01T12:00:00.5Z",
        "01/03/2024 12:00",
        "1.3.2024",
        "12:05:33",
        "5 Mar 2024 1:05 PM",
    ],
)
def test_columns_of_moments_are_excluded_as_such(read, moment):
    table = read(f"when,t\n{moment},1.5\n{moment},2.5\n")
    assert table.report.excluded == (Excluded("when", "date or time"),)


def test_split_and_label_columns_are_kept_as_text_and_apart(read):
    table = read("mote,temp,kind\n 7 ,21.5,dry\n8,22,\n7,3,wet\n", split_by="mote", label="kind")
    assert (table.columns, table.groups, table.labels) == (("temp",), ("7", "8", "7"), ("dry", "", "wet"))
    assert table.report.excluded == (Excluded("mote", "the split"), Excluded("kind", "the labels"))


def test_groups_and_labels_follow_the_rows_that_are_kept(read):
    table = read("m,t,k\na,1,x\nb,,y\nc,3,z\n,4,w\n", split_by="m", label="k", missing="drop")
    assert (table.groups, table.labels, table.lines.tolist()) == (("a", "c"), ("x", "z"), [2, 4])
    assert [tuple(row) for row in table.report.dropped] == [(3, "t", ""), (5, "m", "")]


def test_blank_lines_anywhere_do_not_move_the_line_numbers(read):
    table = read("\n\ntemp,hum\n\n1,2\n  \n,\n3,4\n\n")
    assert (table.lines.tolist(), table.report.blank) == ([5, 8], 6)


def test_a_quoted_cell_may_hold_line_ends(read):
    table = read('t,"note\nof the day"\n1,"a\nb"\n2,"c ""d"""\n', label="note\nof the day")
    assert (table.lines.tolist(), table.labels) == ([3, 5], ("a\nb", 'c "d"'))


def test_empty_cells_beyond_the_last_column_are_cut_and_told(read):
    table = read("temp,hum\n21.5,40.1,\n22,41,,\n")
    assert table.values.tolist() == [[21.5, 40.1], [22, 41]]
    assert "2 rows with empty cells beyond" in table.report.warnings[0]


@pytest.mark.parametrize(
    ("name", "mark"), [("tab", "\t"), ("pipe", "|"), ("semicolon", ";"), ("space", "  ")]
)
def test_other_delimiters_are_found_and_can_be_named(read, name, mark):
    content = f"temp{mark}hum\n21.5{mark}40.1\n22{mark}41\n"
    found, named = read(content), read(content, delimiter=name)
    assert found.values.tolist() == named.values.tolist() == [[21.5, 40.1], [22, 41]]


def test_a_wrong_delimiter_that_leaves_one_column_is_pointed_out(read):
    assert "is the delimiter right?" in read("t,h\n1,2\n3,4\n", delimiter=";").report.warnings[0]


def test_a_western_european_file_is_read_and_told(read):
    table = read("Temp (°C),hum\n21.5,3\n22,4\n".encode("latin-1"))
    assert table.columns[0] == "Temp (°C)"
    assert "Windows-1252" in table.report.warnings[0]
