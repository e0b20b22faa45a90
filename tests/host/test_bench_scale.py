"""`dcka bench scale`, `faults`, `soak`: words, exit codes and refusals; the fuzzer's laws; the memory's line."""

import json

import pytest

from dcka.bench.faults.honest import Dishonest, plausible
from dcka.bench.faults.record import FAULTS
from dcka.bench.faults.record import text as faults_text
from dcka.bench.faults.soak import Sample, _leaks
from dcka.bench.fuzz import Fuzzer
from dcka.bench.live import spread
from dcka.bench.scale.cases import CASES
from dcka.bench.scale.footprint import line
from dcka.bench.scale.record import _missed
from dcka.bench.scale.record import text as scale_text
from dcka.cli import main
from dcka.runs.again import Again
from dcka_core.codec import Reader, put_set
from dcka_core.messages import UP, put_head

ROW = {
    "name": "mosquitto-200",
    "nodes": 200,
    "finished": True,
    "bit_identical": True,
    "wall_s": 2.0,
    "slots_per_s": 40.0,
    "ratio_vs_raw": 2.0,
    "host_kb_per_node": 30.0,
    "missed": [],
}


@pytest.fixture
def bench(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        code = main(["bench", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["scale", "--case", "n7"], "there is no case 'n7'; the cases are mosquitto-200, mosquitto-1000"),
        (["scale", "--repeats", "0"], "--repeats 0: once at least"),
        (["scale", "--nodes", "1"], "--nodes 1: a case has 6 nodes at least"),
        (["faults", "--fault", "rust"], "there is no fault 'rust'; the faults are broker_restart"),
        (["faults", "--nodes", "2"], "--nodes 2: a network has 5 nodes at least"),
        (["faults", "--messages", "0"], "--pause and --messages are greater than 0"),
        (["soak", "--seconds", "0"], "--seconds 0: a soak takes longer than that"),
    ],
)
def test_what_cannot_be_is_one_line_and_exit_code_2(bench, arguments, words):
    code, out, err = bench(*arguments)
    assert (code, out) == (2, "")
    assert words in err and err.count("\n") == 1


@pytest.mark.parametrize(("ok", "code"), [(True, 0), (False, 1)])
def test_exit_codes_follow_ok_and_json_is_the_record(bench, monkeypatch, ok, code):
    record = {"cases": [ROW], "ok": ok, "seconds": 1.0}
    monkeypatch.setattr("dcka.bench.scale.scale", lambda *_, **__: record)
    assert bench("scale", "--json")[:2] == (code, json.dumps(record) + "\n")
    row = {"fault": "fuzz", "expected": "e", "observed": "o", "nodes_lost": 0, "results_wrong": 0}
    record = {"faults": [{**row, "recovered_s": 1.0, "ok": ok}], "seed": 1, "ok": ok}
    monkeypatch.setattr("dcka.bench.faults.faults", lambda *_: record)
    assert bench("faults", "--json")[:2] == (code, json.dumps(record) + "\n")
    assert ("stood" if ok else "FAILED") in faults_text(record)


def test_a_case_misses_its_aim_by_name():
    assert _missed(ROW) == []
    assert "3.50 times as long" in _missed({**ROW, "ratio_vs_raw": 3.5})[0]
    assert "120 KB a node" in _missed({**ROW, "host_kb_per_node": 120.0})[0]
    assert (
        _missed({**ROW, "host_kb_per_node": 9000.0, "heap_kb": 256}) == []
    )  # processes, no nodes of a process
    assert "off its line" in _missed({**ROW, "off_the_line": 0.2})[0]
    assert "not bit-identical: node 3" in _missed({**ROW, "bit_identical": False, "reason": "node 3"})[0]
    assert "no server was killed" in _missed({**ROW, "servers": 3, "killed_after_step": None})[0]
    assert "mosquitto-200  200    same" in scale_text({"cases": [ROW], "ok": True})


def test_the_line_through_points_on_a_line_is_that_line():
    slope, base, off = line({200: 40_000 + 200 * 60, 500: 40_000 + 500 * 60, 1000: 40_000 + 1000 * 60})
    assert slope == pytest.approx(60) and base == pytest.approx(40_000) and off < 1e-9
    assert line({1: 100.0, 2: 100.0, 3: 400.0})[2] > 0.1


def test_growth_beyond_what_is_allowed_is_a_leak():
    before = Sample(50_000, 30, 5)
    assert _leaks("host", before, Sample(55_000, 33, 6)) == []
    assert _leaks("host", before, Sample(70_000, 30, 5)) == [
        "host: resident memory went from 48.8 to 68.4 MB"
    ]
    assert _leaks("host", before, Sample(50_000, 60, 5)) == ["host: open files went from 30 to 60"]
    assert _leaks("host", before, Sample(50_000, 30, 9)) == ["host: threads went from 5 to 9"]


def test_the_faults_of_the_issue_are_there():
    assert set(FAULTS) == {
        *("broker_restart", "broker_paused", "disk_full", "fuzz", "replayed_messages", "spoofed_neighbour"),
        *(
            "half_open_one_way",
            "half_open_other_way",
            "half_open_both_ways",
            "tls_silent_server",
            "duplicate_id",
        ),
        *(
            "nodes_reconnecting",
            "clock_step",
            "certificate_expired",
            "wrong_ca",
            "wrong_password",
            "acl_denied",
        ),
    }
    assert {case.nodes for case in CASES.values()} == {20, 200, 1000}


def up(run):
    return bytes(put_head(UP, run, 3, 1, 4)) + b"\x02\x01" + bytes(20)


def test_of_a_fuzz_what_could_be_honest_is_left_out():
    def made(seed):
        fuzzer = Fuzzer(seed, [1, 2, 3])
        for suffix, payload in (
            ("x/0/1", up(6)),
            ("run", b'{"v":1,"run":6}'),
            ("status/2", b'{"v":1,"node":2}'),
        ):
            fuzzer.learn(suffix, payload)
        found = Dishonest(fuzzer.messages(), 3000, 7)
        return list(found), found.forged

    messages, forged = made(5)
    assert len(messages) == 3000 and (messages, forged) == made(5) and messages != made(6)[0]
    assert forged > 0 and not any(plausible(suffix, payload, 7) for suffix, payload in messages)
    kinds = {suffix.partition("/")[0] for suffix, _ in messages}
    assert kinds == {
        "x",
        "commit",
        "epoch",
        "put",
        "got",
        "run",
        "dataset",
        "status",
        "step",
        "result",
        "rows",
    }


def test_what_could_be_honest():
    assert plausible("x/0/3", up(7), 7) and not plausible("x/0/3", up(6), 7)
    assert not plausible("x/0/3", b"", 7) and not plausible("x/0/3", b"\xff" * 9, 7)
    assert plausible("run", b'{"v":1,"run":8,"kind":"idle"}', 7)
    assert not plausible("run", b'{"v":1,"run":6}', 7) and not plausible("run", b"{", 7)
    assert plausible("put/1", bytes([0x18, 0, 0, 0, 0]), 7)


def test_readings_are_dealt_whole():
    work = spread(7, readings=90)
    assert sum(work.dataset.rows(node) for node in work.config.ids) == 90
    assert max(work.dataset.rows(node) for node in work.config.ids) == 13


@pytest.mark.parametrize("size", [1, 15, 16, 17, 1000])
def test_sets_of_many_members_come_back(size):
    for members in (0, 1, 1 << (size - 1), (1 << size) - 1, int("10" * (size // 2) or "1", 2)):
        out = bytearray()
        put_set(out, members)
        assert Reader(out).set(size) == members


def test_what_is_said_again_is_said_half_as_often_each_time():
    now = [100.0]
    again = Again(lambda: now[0])
    said = []
    for tenth in range(300):
        now[0] = 100 + tenth / 10
        if again.due():
            said.append(tenth / 10)
    assert said == [0.0, 0.5, 1.5, 3.5, 7.5, 15.5, 23.5]
    again.reset()
    assert again.due() and not again.due()
