"""The random stream against SHA-256 itself, and the starting centres that are drawn with it."""

from hashlib import sha256
from json import load

from bus import make_points
from support import vector_path

from dcka_core.labels import sums_by_labels
from dcka_core.ordered import in_order
from dcka_core.record import Run
from dcka_core.starts import Stream, draw_local, draw_own, draw_shared


def words(seed, label, count):
    """The stream's words as the protocol has them, from SHA-256 alone."""
    found = []
    block = 0
    while len(found) < count:
        text = seed.to_bytes(8, "little") + label + block.to_bytes(4, "little")
        digest = sha256(text).digest()
        found.extend([int.from_bytes(digest[at : at + 4], "little") for at in range(0, 32, 4)])
        block += 1
    return found[:count]


def points_of(count, n=2, per_block=None):
    """Different points: number, number + 1000, ..."""
    readings = [number + 1000 * j for number in range(count) for j in range(n)]
    points = make_points(n, 14, bytes(8), [5000] * n, readings)
    if per_block:
        flat = [value for block, _ in points.blocks for value in block]
        cuts = range(0, count, per_block)
        points.blocks = [(flat[at * n : (at + per_block) * n], min(per_block, count - at)) for at in cuts]
        points.per_block = per_block
    return points


def rows_of(centres, n=2):
    return [tuple(centres[at : at + n]) for at in range(0, len(centres), n)]


def test_the_stream_is_the_vectors():
    with open(vector_path("random.json")) as file:
        vectors = load(file)
    assert len(vectors["streams"]) == 4
    for vector in vectors["streams"]:
        stream = Stream(int(vector["seed"]), bytes.fromhex(vector["label"]))
        for word in vector["words"]:
            assert stream.word() == int(word, 16), vector


def test_the_stream_is_sha256_in_counter_mode():
    for seed in (0, 1, (1 << 63) - 1):
        stream = Stream(seed, b"label")
        assert [stream.word() for _ in range(20)] == words(seed, b"label", 20)


def test_seed_and_label_make_different_streams():
    firsts = [Stream(seed, label).word() for seed in (0, 1) for label in (b"", b"a", b"b")]
    assert len(set(firsts)) == 6


def test_below_is_the_words_modulo_the_bound():
    stream = Stream(3, b"below")
    expected = words(3, b"below", 30)
    assert [stream.below(1 << 16) for _ in range(10)] == [word % (1 << 16) for word in expected[:10]]
    assert [stream.below(1 << 32) for _ in range(10)] == expected[10:20]
    assert [stream.below(1) for _ in range(10)] == [0] * 10


def test_below_draws_again_beyond_the_last_multiple():
    # Of four words one is beyond 3 * 2^30.
    bound = 3 << 30
    kept = [word for word in words(9, b"again", 80) if word < bound]
    assert len(kept) < 70
    stream = Stream(9, b"again")
    assert [stream.below(bound) for _ in range(50)] == kept[:50]


def test_below_reaches_every_value_and_no_other():
    stream = Stream(4, b"dice")
    throws = [stream.below(6) for _ in range(200)]
    assert set(throws) == set(range(6))


def test_local_draws_different_points_of_the_nodes_own():
    for seed in range(20):
        drawn = rows_of(draw_local(points_of(8), 5, seed, 3))
        assert len(set(drawn)) == 5, (seed, drawn)
        assert [row for row in drawn if row[1] != row[0] + 1000 or row[0] > 7] == [], (seed, drawn)


def test_local_draws_by_the_stream_of_seed_and_node():
    for seed, node in ((0, 1), (7, 65535), ((1 << 63) - 1, 300)):
        indices = []
        for word in words(seed, b"local" + node.to_bytes(4, "little"), 64):
            if word < (1 << 32) - (1 << 32) % 11 and word % 11 not in indices:
                indices.append(word % 11)
        expected = [(index, index + 1000) for index in indices[:6]]
        assert rows_of(draw_local(points_of(11), 6, seed, node)) == expected, (seed, node)


def test_local_may_take_every_point():
    drawn = rows_of(draw_local(points_of(9), 9, 1, 1))
    assert sorted(drawn) == [(number, number + 1000) for number in range(9)]


def test_local_needs_k_points():
    assert draw_local(points_of(4), 5, 1, 1) is None
    assert draw_local(points_of(0), 1, 1, 1) is None
    assert draw_local(points_of(5), 5, 1, 1) is not None


def test_nodes_draw_for_themselves():
    draws = {tuple(draw_local(points_of(50), 3, 1, node)) for node in range(1, 9)}
    assert len(draws) > 6


def test_local_finds_a_point_in_whatever_block_it_lies():
    for n in (1, 2, 3):
        whole = draw_local(points_of(20, n), 6, 2, 4)
        for per_block in (1, 3, 7, 20):
            assert draw_local(points_of(20, n, per_block), 6, 2, 4) == whole, (n, per_block)


def test_shared_stays_within_the_extents():
    extents = [0, 1, 5, 32767]
    seen = [set(), set(), set(), set()]
    for seed in range(40):
        centres = draw_shared(extents, 3, seed)
        assert len(centres) == 12
        for index in range(12):
            assert 0 <= centres[index] <= extents[index % 4], (seed, centres)
            seen[index % 4].add(centres[index])
    assert seen[0] == {0} and seen[1] == {0, 1} and seen[2] == set(range(6)) and len(seen[3]) > 100


def test_shared_draws_cluster_by_cluster():
    expected = [word % 1024 for word in words(6, b"shared", 8)]
    assert draw_shared([1023, 1023], 4, 6) == expected


def own_starts():
    """What a node draws by itself, as the reference has it."""
    with open(vector_path("starts.json")) as file:
        return load(file)["own"]


def test_what_a_node_draws_by_itself_is_the_vectors():
    """Drawn, put into order, and summed by labels; a node with fewer than K points draws nothing."""
    vectors = own_starts()
    assert len(vectors) == 6 and [one for one in vectors if one["local"] is None]
    for vector in vectors:
        n, k, seed, node = vector["n"], vector["k"], int(vector["seed"]), vector["node"]
        points = make_points(n, 15, bytes(8), [32767] * n, vector["points"])
        run = Run()
        run.k, run.n, run.seed = k, n, seed
        for init in ("local", "sorted", "snake"):
            run.init = init
            assert draw_own(run, points, node) == vector[init], (init, vector)
        run.init = "partition"
        assert draw_own(run, points, node) is None
        assert sums_by_labels(points, k, seed, node) == vector["partition"], vector


def test_an_order_forgets_how_it_was_drawn():
    """Equal points stay equal: whatever order they were drawn in, clusters get the same centres."""
    stream = Stream(3, b"order")
    for n in (1, 2, 3):
        for k in (1, 2, 3, 4, 5, 9, 10, 17, 26):
            rows = [[stream.below(4) for _ in range(n)] for _ in range(k)]
            for init in ("sorted", "snake"):
                ordered = in_order([value for row in rows for value in row], n, init)
                assert sorted(rows_of(ordered, n)) == sorted([tuple(row) for row in rows]), (n, k)
                other = [rows[(7 * at + 3) % k] for at in range(k)] if k % 7 else rows
                assert in_order([value for row in other for value in row], n, init) == ordered, (n, k)


def test_snake_goes_strip_by_strip():
    """Nine places of a 3 by 3 grid: three columns, each from below."""
    places = [(x, y) for y in (5, 900, 30) for x in (7, 1, 4)]
    ordered = rows_of(in_order([value for place in places for value in place], 2, "snake"))
    assert ordered == [(x, y) for x in (1, 4, 7) for y in (5, 30, 900)]


def test_labels_come_from_one_stream_through_all_blocks():
    for n in (1, 2, 3):
        whole = sums_by_labels(points_of(20, n), 4, 2, 4)
        for per_block in (1, 3, 7, 20):
            assert sums_by_labels(points_of(20, n, per_block), 4, 2, 4) == whole, (n, per_block)
    assert sums_by_labels(points_of(0), 3, 1, 1) == [0] * 9
