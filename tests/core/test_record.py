"""The run record and the rows: good ones are read, and each key that is not as the protocol has it is named."""

from scenes import DATASET
from support import raises

from dcka_core.errors import CoreError
from dcka_core.record import read_rows, read_run

LARGEST = (1 << 63) - 1
# Whole numbers: (key, a value that is too small).
TREE_NUMBERS = (
    ("run", 0),
    ("points", -1),
    ("n", 0),
    ("bits", 0),
    ("k", 0),
    ("seed", -1),
    ("max_steps", 0),
    ("patience_ms", 0),
    ("depth", -1),
    ("root", 0),
)
GOSSIP_NUMBERS = TREE_NUMBERS[:-2] + (("slots", -1), ("max_slots", 0), ("window", 0), ("tolerance", -1))
NO_NUMBERS = (None, "7", 1.5, 1.0, [], {}, True, False)


def tree(**changes):
    record = {
        "v": 1,
        "run": 7,
        "kind": "tree",
        "members": [3, 1, 65535],
        "root": 3,
        "depth": 2,
        "dataset": DATASET.hex(),
        "points": 900,
        "n": 2,
        "bits": 15,
        "k": 2,
        "init": "local",
        "seed": LARGEST,
        "max_steps": 100,
        "patience_ms": 500,
    }
    record.update(changes)
    return record


def gossip(**changes):
    record = tree(kind="gossip", slots=6, max_slots=200, window=3, tolerance=838)
    del record["root"], record["depth"]
    record.update(changes)
    return record


def without(record, key):
    record = dict(record)
    del record[key]
    return record


def complaint(read, record, key):
    """The refusal, which has to name the key."""
    text = str(raises(CoreError, read, record))
    assert key in text, (key, text)
    return text


def test_a_run_of_tree():
    run = read_run(tree())
    assert (run.number, run.kind, run.members, run.root) == (7, "tree", [3, 1, 65535], 3)
    assert (run.dataset, run.points, run.n, run.bits, run.k) == (DATASET, 900, 2, 15, 2)
    assert (run.rows, run.init, run.seed, run.centres) == (6, "local", LARGEST, None)
    assert (run.max_steps, run.patience_ms) == (100, 500)


def test_a_run_of_gossip():
    run = read_run(gossip())
    assert (run.slots, run.max_slots, run.window, run.tolerance) == (6, 200, 3, 838)


def test_keys_that_nobody_knows_change_nothing():
    assert read_run(tree(colour="red")).number == 7


def test_the_bits_of_the_mass():
    """f = 20 + ⌈log2 N⌉, W = b + ⌈log2 (M + 1)⌉ + f + 1."""
    for size, points, fraction, modulus in (
        (1, 0, 20, 36),
        (1, 1, 20, 37),
        (2, 3, 21, 39),
        (3, 4, 22, 41),
        (4, 7, 22, 41),
        (5, 4500, 23, 52),
        (8, 8191, 23, 52),
        (9, 8192, 24, 54),
    ):
        run = read_run(gossip(members=list(range(1, size + 1)), points=points))
        assert (run.fraction, run.modulus_bits) == (fraction, modulus), (size, points)


def test_mass_that_does_not_fit_is_refused():
    # 15 + 26 + 22 = 63 bits.
    assert read_run(gossip(points=(1 << 26) - 1)).modulus_bits == 64
    assert "67108864" in complaint(read_run, gossip(points=1 << 26), "points")


def test_given_centres():
    assert read_run(tree(init="given", centres=[0, 1, 2, 32767])).centres == [0, 1, 2, 32767]
    wrong = (
        None,
        "0123",
        {},
        [],
        [0, 1, 2],
        [0, 1, 2, 3, 4],
        [0, 1, 2, 32768],
        [0, 1, 2, -1],
        [0, 1, 2, 1.5],
    )
    for centres in wrong:
        complaint(read_run, tree(init="given", centres=centres), "centres")
    complaint(read_run, tree(init="given"), "centres")


def test_idle_needs_no_more():
    assert read_run({"v": 1, "run": 9, "kind": "idle"}).kind == "idle"
    complaint(read_run, {"v": 1, "kind": "idle"}, "run")
    complaint(read_run, {"run": 9, "kind": "idle"}, "v")


def test_each_key_is_needed():
    for record in (tree(), gossip()):
        for key in record:
            complaint(read_run, without(record, key), key)


def test_each_number_has_to_be_one():
    for record, numbers in ((tree(), TREE_NUMBERS), (gossip(), GOSSIP_NUMBERS)):
        for key, small in numbers:
            for value in NO_NUMBERS + (small, 1 << 70):
                wrong = dict(record)
                wrong[key] = value
                assert repr(value) in complaint(read_run, wrong, key), (key, value)


def test_each_word_has_to_be_one_of_the_known():
    for key in ("kind", "init"):
        for value in (None, "", "trees", 1, ["tree"], "TREE"):
            complaint(read_run, tree(**{key: value}), key)


def test_another_version_is_refused():
    for value in NO_NUMBERS + (0, 2):
        complaint(read_run, tree(v=value), "v")


def test_members_are_different_ids():
    for members in (None, "31", {}, [], [3, 3], [3, 0], [3, 65536], [3, "1"], [3, 1.5], [3, None], [[3]], 3):
        complaint(read_run, tree(members=members), "members")


def test_the_root_is_a_member():
    assert "4" in complaint(read_run, tree(root=4), "root")


def test_the_dataset_is_eight_bytes_in_hex():
    for dataset in (
        None,
        "",
        "0011",
        "00112233445566",
        "001122334455667788",
        "xx11223344556677",
        7,
        [],
        True,
    ):
        complaint(read_run, tree(dataset=dataset), "dataset")


def test_bits_leave_room_for_a_distance():
    for n, bits in ((2, 15), (8, 14), (32, 13), (128, 12), (512, 11)):
        assert read_run(tree(n=n, bits=bits)).bits == bits
        if n < 512:
            complaint(read_run, tree(n=n + 1, bits=bits), "bits")
    complaint(read_run, tree(n=513, bits=11), "n")
    complaint(read_run, tree(n=1, bits=16), "bits")


def test_slots_are_whole_windows():
    for slots in (0, 3, 300):
        assert read_run(gossip(slots=slots)).slots == slots
    for slots in (1, 2, 4):
        complaint(read_run, gossip(slots=slots), "slots")


# ---- rows ----


def tree_row(**changes):
    row = {"v": 1, "run": 7, "parent": 3, "children": [4, 65535], "near": [3, 4, 65535]}
    row.update(changes)
    return row


def gossip_row(**changes):
    phase = {"share": [[3, 1], [4, 2]], "hear": [[2, 0], [5, 1]]}
    row = {"v": 1, "run": 7, "near": [2, 5], "phases": [phase, {"share": [], "hear": []}]}
    row.update(changes)
    return row


def phase(share=((3, 1),), hear=((2, 0),)):
    return gossip_row(phases=[{"share": share, "hear": hear}])


def test_rows_of_tree():
    rows = read_rows(tree_row())
    assert (rows.number, rows.parent, rows.children, rows.near) == (7, 3, [4, 65535], [3, 4, 65535])
    assert rows.phases == []
    assert read_rows(tree_row(parent=0, children=[])).parent == 0


def test_rows_of_gossip():
    rows = read_rows(gossip_row())
    assert rows.phases == [([(3, 1), (4, 2)], {2: 0, 5: 1}), ([], {})]
    assert (rows.parent, rows.children, rows.near) == (0, [], [2, 5])


def test_each_key_of_the_rows_is_needed():
    for key in tree_row():
        complaint(read_rows, without(tree_row(), key), key)
    for key in ("v", "run", "near"):
        complaint(read_rows, without(gossip_row(), key), key)
    for key in ("share", "hear"):
        row = {"share": [], "hear": []}
        del row[key]
        complaint(read_rows, gossip_row(phases=[row]), key)


def test_rows_of_the_wrong_kind_of_value():
    for key, small in (("run", -1), ("parent", -1)):
        for value in NO_NUMBERS + (small, 1 << 70):
            complaint(read_rows, tree_row(**{key: value}), key)
    for key in ("children", "near"):
        for value in (None, 3, "34", {}, [0], [65536], [3, 3], ["3"], [1.5], [True]):
            complaint(read_rows, tree_row(**{key: value}), key)


def test_phases_of_the_wrong_kind_of_value():
    for phases in (None, 3, "ab", [3], [None], [[]], ["ab"], {"share": []}):
        complaint(read_rows, gossip_row(phases=phases), "phases")


def test_shares_have_a_divisor_and_a_number_of_neighbours():
    for share in (
        3,
        None,
        [3],
        [[3]],
        [[3, 1, 1]],
        [["3", 1]],
        [[3.5, 1]],
        [[3, None]],
        [[0, 1]],
        [[1, 1]],
        [[-3, 1]],
    ):
        complaint(read_rows, phase(share=share), "phases")
    for share in ([[3, 0]], [[3, -1]], [[3, True]]):
        complaint(read_rows, phase(share=share), "phases")


def test_shares_leave_something_at_home():
    """Metropolis weights do; what doesn't would make mass negative."""
    assert read_rows(phase(share=[[2, 1], [3, 1]])).phases[0][0] == [(2, 1), (3, 1)]
    for share in ([[3, 3]], [[2, 1], [2, 1]], [[2, 1], [3, 1], [4, 1]], [[2, 2]]):
        complaint(read_rows, phase(share=share), "phases")


def test_hear_names_neighbours_and_their_groups():
    for hear in (
        3,
        None,
        [2],
        [[2]],
        [[2, 0, 0]],
        [["2", 0]],
        [[2, "0"]],
        [[2, -1]],
        [[0, 0]],
        [[65536, 0]],
        [[2, 0.5]],
    ):
        complaint(read_rows, phase(hear=hear), "phases")
