"""A score: silhouettes and indices by hand, every kernel the same bits, and runs that end so whatever is lost."""

from array import array
from math import log

from bus import make_points
from plain_kmeans import distance, nearest, tuples
from scenes import DATASET, FORK, LINE, STAR, Scene, cloud
from support import raises, skip

from dcka_core import score_plain
from dcka_core.bounds import message_bound
from dcka_core.errors import CoreError
from dcka_core.indices import bic, indices, log2
from dcka_core.messages import FINAL, Commit
from dcka_core.record import read_run
from dcka_core.score import spread, tally
from dcka_core.starts import Stream

LOG_2PI = 11388089161
LOG_E = 6196328018


def record(n, points, centres, **changes):
    made = {
        "v": 1,
        "run": 1,
        "kind": "score",
        "members": [1],
        "root": 1,
        "depth": 0,
        "dataset": DATASET.hex(),
        "points": points,
        "n": n,
        "bits": 15 if n <= 2 else 13,
        "k": len(centres) // n,
        "centres": centres,
        "patience_ms": 100,
    }
    made.update(changes)
    return made


def isqrt(value):
    """The whole part of the root, by halving: slow, and unlike the core's."""
    low, high = 0, 1 << 32
    while high - low > 1:
        middle = (low + high) // 2
        if middle * middle <= value:
            low = middle
        else:
            high = middle
    return low


def silhouette(point, centres):
    """As the protocol has it."""
    if len(centres) < 2:
        return 0
    best, second = sorted([distance(point, centre) for centre in centres])[:2]
    return (1 << 15) - isqrt((best << 30) // second) if second else 0


def expected(points, centres):
    """(counts, sums by cluster, SSD, silhouettes, whole part of the spread) from all points."""
    n = len(centres[0])
    counts = [0] * len(centres)
    sums = [[0] * n for _ in centres]
    ssd = silhouettes = 0
    for point in points:
        k = nearest(point, centres)
        counts[k] += 1
        for j in range(n):
            sums[k][j] += point[j]
        ssd += distance(point, centres[k])
        silhouettes += silhouette(point, centres)
    total = len(points)
    # Σ‖y − ȳ‖² = Σ‖M·y − Σy‖² / M².
    whole = [sum([point[j] for point in points]) for j in range(n)]
    square = sum([(total * point[j] - whole[j]) ** 2 for point in points for j in range(n)])
    return counts, sums, ssd, silhouettes, square // (total * total) if total else 0


def random_case(seed, n, k, count):
    """(points, centres): whole range and small numbers, so that there are ties and points on centres."""
    stream = Stream(seed, b"score")
    top = 1 << (15 if n <= 2 else 13)
    bound = top if seed % 2 else 4
    values = [stream.below(bound) for _ in range(n * count)]
    centres = [stream.below(bound) for _ in range(n * k)]
    return values, centres


def kernels():
    found = [("plain", score_plain.score)]
    try:
        from dcka_core.score_viper import score
    except (ImportError, ValueError, SyntaxError):
        return found
    return found + [("viper", score)]


def test_every_kernel_has_the_protocol_s_sums_and_silhouettes():
    for seed in range(8):
        for n, k, count in ((1, 2, 20), (2, 5, 30), (3, 1, 9), (9, 4, 12), (2, 3, 0)):
            values, centres = random_case(seed, n, k, count)
            wanted = expected(tuples(values, n), tuples(centres, n))
            for name, kernel in kernels():
                sums = array("i", bytes(4 * (k * (n + 1) + 3)))
                kernel(array("H", values), count, n, array("H", centres), k, sums)
                found = list(sums)
                for cluster in range(k):
                    row = found[cluster * (n + 1) : (cluster + 1) * (n + 1)]
                    assert row == [wanted[0][cluster]] + wanted[1][cluster], (name, seed, n)
                low, high, silhouettes = found[-3:]
                assert low + (high << 16) == wanted[2], (name, seed, n)
                assert silhouettes == wanted[3], (name, seed, n)


def test_extremes_of_the_grid_stay_within_31_bits():
    """The largest squared distances, and quotients next to 1: all kernels and the definition agree."""
    cases = (
        (2, [0, 0, 32767, 32767, 32766, 32767, 16383, 16384], [0, 0, 32767, 32767]),
        (2, [0, 32767, 32767, 0] * 2048, [0, 0, 32767, 32766, 32767, 32767]),
        (1, [1, 2, 16383, 16384, 32767], [0, 32767]),
        (1, [5, 5], [5, 5, 5]),
        (1, [32767], [0, 0]),
    )
    for n, values, centres in cases:
        wanted = expected(tuples(values, n), tuples(centres, n))
        for name, kernel in kernels():
            sums = array("i", bytes(4 * (len(centres) // n * (n + 1) + 3)))
            kernel(array("H", values), len(values) // n, n, array("H", centres), len(centres) // n, sums)
            assert sums[-3] + (sums[-2] << 16) == wanted[2], (name, centres)
            assert sums[-1] == wanted[3], (name, centres)


def test_there_is_machine_code_where_there_is_an_emitter():
    try:
        from dcka_core.kernel_viper_2 import accumulate
    except (ImportError, ValueError, SyntaxError):
        skip("no machine code on this interpreter")
    assert accumulate and len(kernels()) == 2


def test_a_tally_adds_blocks_up():
    values, centres = random_case(3, 2, 4, 5000)
    points = make_points(2, 15, DATASET, [32767] * 2, values)
    assert len(points.blocks) > 2
    counts, _, ssd, silhouettes, whole = expected(tuples(values, 2), tuples(centres, 2))
    totals = tally(points, centres, 4)
    assert [totals[row] for row in range(0, 12, 3)] == counts
    assert totals[-3] + (totals[-2] << 16) == ssd and totals[-1] == silhouettes
    assert spread(totals, centres, 2, ssd) == whole
    assert spread([0] * 12, centres, 2, 0) == 0


# Four points, two clusters: 0 and 2 around 1, 10 and 12 around 11.
BY_HAND = [0, 2, 10, 12], [1, 11]
HAND_SILHOUETTES = 2 * (2 * 32768 - 32768 // 11 - 32768 // 9)
HAND_BIC = -20 * (1 << 32) - 4 * LOG_2PI - 2 * LOG_E


def state(whole, silhouettes, numbers):
    """A state as the protocol has it."""
    digits = [1] + [whole >> 16 * place & 0xFFFF for place in range(5)]
    digits += [silhouettes >> 16 * place & 0xFFFF for place in range(4)]
    return digits + [0] * (numbers - 10)


def commit_of(counts, ssd, whole, silhouettes, numbers=10):
    commit = Commit()
    commit.counts, commit.ssd, commit.centres = counts, ssd, state(whole, silhouettes, numbers)
    return commit


def test_indices_by_hand():
    """SSD 4, spread 36 + 16 + 16 + 36; (100 / 1) / (4 / 2) = 50; silhouettes 1 − 1/11 and 1 − 1/9, two of each."""
    run = read_run(record(1, 4, BY_HAND[1]))
    scene = Scene({1: BY_HAND[0]}, {1: 0}, n=1, kind="score", k=2, centres=BY_HAND[1]).finish()
    held = scene.held(1)
    assert (held.step, held.flags, held.ssd, held.counts[:3]) == (1, FINAL, 4, [2, 2, 4])
    assert held.centres == state(104, HAND_SILHOUETTES, 10)
    found = indices(run, held)
    assert found == {"calinski_harabasz": [200, 4], "bic": HAND_BIC, "silhouette": HAND_SILHOUETTES}


def test_what_has_no_index_has_none():
    run = read_run(record(1, 4, [1, 11]))
    for counts, ssd, without in (
        ([2, 2, 4], 0, ("calinski_harabasz", "bic")),
        ([1, 1, 2], 4, ("calinski_harabasz", "bic")),
        ([0, 0, 0], 0, ("calinski_harabasz", "bic")),
    ):
        found = indices(run, commit_of(counts, ssd, 104, 7))
        assert [name for name in sorted(found) if found[name] is None] == sorted(without), counts
        assert found["silhouette"] == 7
    one = read_run(record(1, 4, [6]))
    found = indices(one, commit_of([4, 4], 104, 104, 0))
    assert found["calinski_harabasz"] is None and found["bic"] is not None


def test_bic_is_the_formula_in_floating_point():
    """Up to the logarithms' 32 digits; a cluster without points adds nothing to the likelihood."""
    for counts, n, within in (([3, 5, 9], 2, 1234), ([400, 0, 77], 3, 987654321), ([7, 1], 1, 5)):
        total, k = sum(counts), len(counts)
        variance = within / (n * (total - k))
        likelihood = sum([m * log(m / total) for m in counts if m])
        likelihood -= total * n / 2 * log(2 * 3.141592653589793 * variance) + n * (total - k) / 2
        wanted = likelihood - k * (n + 1) / 2 * log(total)
        found = bic(counts, n, within) / (1 << 33) * log(2)
        # Single precision on the interpreter's side is enough for this; the bits are the agreement tests' business.
        assert abs(found - wanted) <= 1e-4 * abs(wanted), (counts, found, wanted)


def test_logarithms():
    for exponent in (0, 1, 7, 40, 70):
        assert log2(1 << exponent) == exponent << 32
    # Digits of log2(3), log2(10) and log2(10^20) by a calculator.
    assert log2(3) == 6807362105 and log2(10) == 14267572527
    assert abs(log2(10**20) - 20 * 14267572527) < 32


def scene_of(parents, seed=1, **settings):
    data = {node: cloud(node + seed, 3 * node % 7 + 4) for node in parents}
    centres = [100, 200, 9000, 9000, 20000, 30000]
    return Scene(data, parents, kind="score", k=3, centres=centres, **settings)


def check_ended(scene, without=()):
    """Every node holds the sums of all points, and the same bits of every index."""
    centres = tuples(scene.settings["centres"], 2)
    points = [point for node in scene.data if node not in without for point in tuples(scene.data[node], 2)]
    counts, _, ssd, silhouettes, whole = expected(points, centres)
    step, flags, centres, committed, total, _, missing = scene.final()
    assert (step, flags, total) == (1, FINAL, ssd)
    assert committed == counts + [len(points)] + [0] * (len(committed) - len(counts) - 1)
    assert centres == state(whole, silhouettes, len(centres))
    assert scene.session(min(scene.data)).ids(missing) == sorted(without)
    for node in scene.bus.nodes:
        results = scene.reports("result", node)
        assert results, node
        names = ("calinski_harabasz", "bic", "silhouette")
        assert [results[-1][name] for name in names] == [
            indices(read_run(scene.record()), scene.held(node))[name] for name in names
        ]


def test_a_run_commits_what_all_points_add_up_to():
    for parents in (FORK, LINE, STAR, {7: 0}):
        scene = scene_of(parents)
        scene.bus.log = []
        check_ended(scene.finish())


def test_loss_doubles_and_delays_change_nothing():
    whole = 0
    for seed in range(6):
        scene = scene_of(FORK, seed)
        scene.bus.log = []
        loss, double, delay = ((40, 0, 0), (0, 50, 60), (30, 30, 30))[seed % 3]
        scene.bus.faults(seed, loss, double, delay, seed >= 3)
        scene.finish()
        if not scene.final()[-1]:
            whole += 1
            check_ended(scene)
    assert whole >= 5


def test_a_root_that_dies_and_a_node_that_stays_away():
    scene = scene_of(FORK)
    scene.bus.log = []
    scene.bus.kill(5)
    scene.finish()
    check_ended(scene, [5])
    scene = scene_of(FORK)
    scene.bus.log = []
    scene.start()
    for _ in range(9):
        scene.bus.step()
    scene.bus.kill(4)
    scene.bus.run_for(300)
    scene.bus.boot(4)
    assert scene.bus.run(scene.bus.all_done, 20000), scene.told()
    scene.bus.settle()
    assert scene.final()[1] == FINAL


def test_who_comes_back_tells_the_same_result():
    scene = scene_of(STAR)
    scene.bus.log = []
    scene.finish()
    scene.bus.kill(3)
    scene.bus.boot(3)
    assert scene.bus.run(scene.bus.all_done)
    scene.bus.settle()
    check_ended(scene)
    first, last = scene.reports("result", 3)[0], scene.reports("result", 3)[-1]
    assert last["boot"] == first["boot"] + 1 and last["bic"] == first["bic"]


def test_a_node_without_points():
    scene = Scene({1: [], 2: [0, 2, 10, 12]}, {1: 0, 2: 1}, n=1, kind="score", k=2, centres=[1, 11])
    scene.bus.log = []
    scene.finish()
    assert scene.held(1).centres == state(104, HAND_SILHOUETTES, 10)
    nobody = Scene({1: [], 2: []}, {1: 0, 2: 1}, n=1, kind="score", k=2, centres=[1, 11]).finish()
    assert nobody.held(2).centres == state(0, 0, 10) and nobody.held(2).counts[:3] == [0, 0, 0]


def test_records_that_are_refused():
    for changes, words in (
        ({"centres": [1, 2, 3]}, "centres: 4 numbers are needed"),
        ({"centres": [1, 2, 3, 32768]}, "centres holds 32768"),
        ({"centres": None}, "centres is no list"),
        ({"k": 0}, "k is 0"),
        ({"bits": 16}, "bits is 16"),
        ({"root": 9}, "root is 9: no member"),
    ):
        broken = record(2, 4, [1, 2, 3, 4])
        broken.update(changes)
        error = raises(CoreError, read_run, broken)
        assert words in str(error), (changes, str(error))


def test_messages_are_within_their_bound():
    scene = scene_of(FORK)
    sent = []
    publish = scene.bus.publish

    def seen(topic, payload, retain=False):
        if topic.split("/")[2] in ("x", "commit"):
            sent.append(len(payload))
        publish(topic, payload, retain)

    scene.bus.publish = seen
    scene.finish()
    assert sent and max(sent) <= message_bound(read_run(scene.record()))
