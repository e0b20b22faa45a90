"""The data sets beside the checkout, read as they are."""

from dcka.inject.csv_reader import read_csv


def test_air_quality_station(shared_data):
    path = shared_data / "air_quality_uci.csv.gz"
    table = read_csv(path)
    assert (table.report.rows, table.report.blank, len(table.columns)) == (9357, 114, 13)
    assert any("-200" in warning for warning in table.report.warnings)
    some = read_csv(path, columns=["T", "RH"], missing_marker=["-200"])
    assert (some.report.rows, len(some.report.dropped)) == (9357 - 366, 366)
    assert some.values.min() == -1.9


def test_motes_of_a_library(shared_data):
    table = read_csv(shared_data / "ulb_library2_readings.csv.gz", split_by="node")
    assert len(set(table.groups)) == 20
    assert [column.column for column in table.report.excluded] == ["ts_ms", "node"]


def test_hundred_thousand_points_between_blanks(shared_data):
    table = read_csv(shared_data / "birch1.txt.gz")
    assert (table.values.shape, table.columns, table.report.delimiter) == ((100_000, 2), ("c1", "c2"), " ")
    assert table.values[0].tolist() == [58164, 813431]
