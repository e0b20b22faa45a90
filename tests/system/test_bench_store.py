"""`dcka bench store`: a node's own code on LittleFS, counted; and the model that makes years of it."""

import json

import pytest

from dcka.bench.store import ERASES, SYNCS, Case
from dcka.cli import main
from dcka.emulation.micropython import available
from dcka.errors import UsageError


@pytest.mark.skipif(not available(), reason="there is no MicroPython for this platform")
def test_writes_erases_and_years(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "network.toml").write_text(
        "[sensors]\nevery_s = 30\nsync_every = 20\n"
        'devices = [{ driver = "ds18b20", pin = 4, columns = { soil = 2 } }]\n'
    )
    assert main(["bench", "store", "--readings", "2000", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["every_s"], record["sync_every"], record["columns"]) == (30, 20, 1)
    rows = {row["sync_every"]: row for row in record["table"]}
    assert set(rows) == {*SYNCS, 20} and rows[20]["years"] == record["years"]
    for name in (
        "writes_per_reading",
        "bytes_written_per_reading",
        "erases_per_reading",
        "bytes_per_reading",
    ):
        # The more wait for each other, the less each costs.
        values = [rows[sync_every][name] for sync_every in sorted(rows)]
        assert values == sorted(values, reverse=True) and values[-1] > 0, name
    # LittleFS copies the last block once for each append; the folder's own blocks come on top.
    assert 1 <= rows[1]["erases_per_sync"] < 1.2
    years = [rows[sync_every]["years"] for sync_every in sorted(rows)]
    assert years == sorted(years)
    # No block is erased more often than all together.
    least = ERASES / (rows[1]["erases_per_reading"] * 365 * 86400 / 30)
    assert rows[1]["years"] >= least - 0.1


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"every_s": 0}, "--every-s 0: it must be a whole number from 1 to 86,400"),
        ({"sync_every": 101}, "--sync-every 101"),
        ({"columns": 33}, "--columns 33"),
        ({"readings": 10}, "--readings 10"),
    ],
)
def test_what_no_node_can_be_set_to_is_refused(values, says) -> None:
    with pytest.raises(UsageError) as caught:
        Case(**values).check()
    assert str(caught.value).startswith(says)
