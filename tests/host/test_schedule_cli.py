"""`dcka schedule`: what it says, draws and writes, and what it refuses."""

import json

import pytest

from dcka.cli import main
from dcka.config import FILE_NAME, parse, template
from dcka.schedule import design_tree
from dcka.topology import Shape, named, spanning_tree


@pytest.fixture
def schedule(tmp_path, monkeypatch, capsys):
    """Calls `dcka schedule …` in an empty folder; (code, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        code = main(["schedule", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


LINE = """\
tree on line: 3 nodes, 2 links
root 2, depth 1, at most 2 children; preferred: latency
an outer step: 4 slots, 4 broadcasts, 6 deliveries
access: nodes that send in the same slot are more than two hops apart (one radio channel)
proof: executed with sets: every node ends with every node's sums exactly once
in a run: this tree, and other slots: those of --access any, where access point and broker keep nodes apart
"""

TABLE = """
S sends  h hears  B both  - waits awake  · asleep
   0
1  hS-h
2  ShhS
3  h-Sh
"""


def test_a_person_reads_figures_and_a_timetable(schedule):
    code, out, err = schedule("--topology", "line", "--nodes", "3")
    assert (code, err) == (0, "")
    assert out.startswith(LINE)
    assert out.endswith(TABLE)
    assert "modelled charge: " in out


def test_json_is_one_object_with_what_the_issue_names(schedule):
    code, out, _ = schedule(
        "--topology", "random", "--nodes", "20", "--radius", "0.5", "--seed", "3", "--json"
    )
    assert code == 0
    record = json.loads(out)
    assert record["kind"] == "tree"
    assert record["graph"]["nodes"] == list(range(1, 21))
    graph = named(range(1, 21), Shape("random", radius=0.5, seed=3))
    assert record["graph"]["links"] == [list(link) for link in sorted(graph.phases[0])]
    design = design_tree(graph)
    assert (record["slots"], record["broadcasts"]) == (design.slots, design.broadcasts)
    assert len(record["nodes"]) == 20
    worst = record["worst_node"]
    assert worst["modelled_mah_a_day"] == max(node["modelled_mah_a_day"] for node in record["nodes"].values())
    assert 0 < record["awake_share"] <= 1
    assert all(len(row) == record["slots"] for row in record["timetable"].values())
    assert record["beacons"] == 1
    assert all(
        row[0] == ("S" if int(node) == record["root"] else "h") for node, row in record["timetable"].items()
    )


def test_more_than_40_nodes_are_not_a_table_for_a_terminal(schedule):
    code, out, _ = schedule("--topology", "grid", "--nodes", "41")
    assert code == 0
    assert "timetable of 41 nodes not shown" in out


def test_the_network_file_is_the_default(schedule, tmp_path):
    (tmp_path / FILE_NAME).write_text(template({"run": {"schedule": "gossip", "k": 3}}))
    code, out, _ = schedule("--json")
    record = json.loads(out)
    assert (code, record["kind"], record["usage"]["k"]) == (0, "gossip", 3)
    assert record["mixing_slots"] == 6 and record["window"] == 2
    code, out, _ = schedule("--kind", "pairs", "--json")
    assert json.loads(out)["algorithm"] == "circulant"


def test_a_table_of_strengths_says_what_it_dropped(schedule, tmp_path):
    (tmp_path / "heard.csv").write_text("a,b,rssi\n1,2,-60\n2,1,-62\n2,3,-70\n3,2,-71\n3,1,-80\n")
    code, out, err = schedule("--rssi", "heard.csv", "--min-rssi", "-75", "--json")
    assert code == 0
    assert json.loads(out)["notes"] == ["1 pair below -75 dBm dropped: 1-3"]
    assert err == "note: 1 pair below -75 dBm dropped: 1-3\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--edges", "links.csv"], "{1, 2} and {3, 4} never hear each other; links.csv has to link them"),
        (["--edges", "empty.csv"], "empty.csv is empty"),
        (["--edges", "self.csv"], "self.csv, line 1: node 1 is linked to itself"),
        (["--edges", "twice.csv"], "twice.csv, line 2: the link 2-1 is on line 1 already"),
        (["--edges", "links.csv", "--nodes", "1-3"], "links.csv, line 2: there is no node 4"),
        (["--edges", "nowhere.csv"], "nowhere.csv"),
        (["--topology", "mesh"], 'there is no topology "mesh"; the kinds are'),
        (["--topology", "line", "--radius", "0.3"], "radius = 0.3 is no setting of kind"),
        (["--topology", "line", "--root", "99"], "root = 99 is no node of the network"),
        (["--topology", "line", "--kind", "ring"], "--kind ring: it is tree, gossip or pairs"),
        (["--topology", "line", "--prefer", "speed"], "--prefer speed: it is latency or energy"),
        (["--topology", "line", "--access", "csma"], "--access csma: it is two-hop, one or any"),
        (["--topology", "line", "--edges", "links.csv"], "--edges and --topology both name a graph"),
        (["--topology", "line", "--min-rssi", "-70"], "--min-rssi goes with --rssi or --ulb"),
        (["--topology", "line", "--nodes", "a-b"], "--nodes a-b: give how many nodes there are"),
        (["--topology", "line", "--nodes", "0"], "there are no nodes"),
        (["--topology", "line", "--nodes", "1-99999999"], "node id 65536 is out of range"),
        (["--topology", "line", "--kind", "gossip", "--root", "2"], "--root goes with --kind tree"),
        (
            ["--topology", "line", "--kind", "gossip", "--prefer", "energy"],
            "--prefer goes with --kind tree or --kind",
        ),
        (["--topology", "line", "--algorithm", "fold"], "--algorithm goes with --kind pairs"),
        (["--topology", "line", "--kind", "pairs", "--access", "one"], "--access goes with --kind tree"),
        (["--topology", "line", "--tolerance", "0.1"], "--tolerance goes with --kind gossip"),
        (["--topology", "line", "--max-depth", "12"], "--max-depth goes with --prefer energy"),
        (["--topology", "line", "--slot-ms", "0"], "--slot-ms 0: it must be a number from 0.001"),
        (["--topology", "line", "--steps", "0"], "--steps 0: it must be a number from 1"),
        (["--topology", "line", "--picture", "x.gif"], "x.gif: a picture is a .png or an .svg file"),
        (["--topology", "line", "--kind", "pairs", "--write", "x.toml"], "pairs is a design to compare with"),
        (
            ["--topology", "line", "--write", "links.csv"],
            "links.csv is there already; overwrite it with --force",
        ),
        (["--edges", "links.csv", "--split", "0"], "--split 0: at least one phase"),
        (["--ulb"], "the measured radio does not come with dcka"),
        ([], "there is no network.toml in this folder; name a graph with --topology"),
    ],
)
def test_what_cannot_be_is_one_line_and_exit_code_2(schedule, tmp_path, arguments, words):
    (tmp_path / "links.csv").write_text("1,2\n3,4\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "self.csv").write_text("1,1\n")
    (tmp_path / "twice.csv").write_text("1,2\n2,1\n")
    code, out, err = schedule(*arguments)
    assert (code, out) == (2, "")
    assert words in err and err.count("\n") == 1
    assert not (tmp_path / "x.toml").exists()


def test_more_runs_than_a_day_has_room_for_are_refused(schedule):
    code, _, err = schedule("--topology", "line", "--runs-a-day", "5000")
    assert code == 2
    assert "take fewer runs a day, fewer steps or shorter slots" in err


def test_the_written_file_is_a_network_file_with_the_same_tree(schedule, tmp_path):
    (tmp_path / FILE_NAME).write_text(
        '[network]\nname = "barn"\nnodes = 12\n[topology]\nkind = "grid"\n[run]\nk = 4\n'
    )
    for prefer in ("latency", "energy"):
        code, out, err = schedule("--prefer", prefer, "--write", f"{prefer}.toml", "--json")
        assert (code, err) == (0, f"wrote {prefer}.toml: use it with dcka run --network {prefer}.toml\n")
        config = parse((tmp_path / f"{prefer}.toml").read_text())
        assert (config.network.name, config.run.k, config.run.schedule) == ("barn", 4, "tree")
        tree = spanning_tree(config.graph, config.topology.root)
        assert {str(node): row.parent for node, row in tree.rows.items()} == json.loads(out)["parents"]
    assert schedule("--write", "latency.toml")[0] == 2
    assert schedule("--write", "latency.toml", "--force")[0] == 0
