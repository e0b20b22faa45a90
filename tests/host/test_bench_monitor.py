"""The monitor's bench, with tiny numbers: what is sent is stored, what is stored is listed, the keys are there."""

from dcka.bench.monitor import listing
from dcka.bench.monitor.listing import measure_listing
from dcka.bench.monitor.telemetry import NODES, measure_telemetry


def test_what_the_nodes_say_is_counted_in_the_database(tmp_path):
    said = []
    found = measure_telemetry(tmp_path, 2 * NODES, 1.0, said.append)
    assert found.keys() >= {"broker", "telemetry_per_s", "offered_per_s", "behind_s", "cpu_us", "db_bytes"}
    assert (found["sent"], found["stored"], found["lost"]) == (2 * NODES, 2 * NODES, 0)
    assert found["telemetry_per_s"] > 0 and found["cpu_us"] > 0 and len(said) == 1


def test_all_that_is_stored_is_listed(tmp_path, monkeypatch):
    monkeypatch.setattr(listing, "RUNS", 70)
    found = measure_listing(tmp_path, lambda text: None)
    assert found["runs"] == 70
    assert found["list_10000_ms"] > 0 and found["list_page_ms"] > 0
