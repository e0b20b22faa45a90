"""`gossip`: mass at the nodes and on its way is conserved to the last bit, whatever is lost, doubled or reordered."""

from exchange import ROWS, Exchange
from scenes import PAIR, SQUARE, SWITCHED
from support import raises

from dcka_core.errors import MessageError


def test_mass_is_conserved_at_every_moment():
    for seed in range(9):
        phases = (PAIR, SQUARE, SWITCHED)[seed % 3]
        loss, double = ((0, 0), (40, 0), (20, 30))[seed // 3]
        exchange = Exchange(phases, seed)
        for moment in range(70):
            exchange.event(loss, double)
            exchange.check((seed, moment))


def test_what_was_lost_comes_with_the_next_message():
    """Nothing is on its way once everybody's last word has come."""
    for seed in range(6):
        exchange = Exchange((SQUARE, SWITCHED)[seed % 2], seed)
        for _ in range(80):
            exchange.event(60, 10)
        exchange.level()
        exchange.check(seed)
        assert exchange.on_its_way() == [0] * ROWS, seed


def test_running_sums_wrap():
    """With one point, a running sum leaves its W bits after some slots; the differences stay right."""
    exchange = Exchange(PAIR, 1, points=2)
    exchange.total = [0] * ROWS
    for node in exchange.ids:
        exchange.begin(node, 1, [1, 32767, 0, 0])
    wrapped = False
    before = 0
    for moment in range(40):
        for node in exchange.ids:
            exchange.enter(node)
        while exchange.under_way:
            link, payload = exchange.under_way.pop()
            if moment % 3 == 0:
                exchange.deliver(link, payload)
        after = exchange.said[(1, 2, 0)][1][1]
        wrapped = wrapped or after < before
        before = after
        exchange.check(moment)
    assert wrapped


def test_a_share_is_a_floor_and_the_rest_stays_home():
    exchange = Exchange([[(1, 2), (1, 3)]], 1)
    exchange.total = [0] * ROWS
    for node in exchange.ids:
        exchange.begin(node, 1, [0, 0, 0, 0])
    gossip = exchange.nodes[1]
    gossip.begin(0, [1, 2, 4, 5], True)
    before = list(gossip.mass)
    exchange.enter(1)
    for index in range(ROWS):
        # Two neighbours with the divisor 3, in one group.
        assert exchange.said[(1, 2, 0)][1][index] == before[index] // 3
        assert gossip.mass[index] == before[index] - 2 * (before[index] // 3)


def two_boots():
    """Node 2's message of its first boot, counted by node 1; its successor; and node 1's mass by then."""
    exchange = Exchange(PAIR, 3)
    for node in exchange.ids:
        exchange.enter(node)
    first = exchange.under_way[1][1]
    exchange.nodes[1].take(2, 0, first)
    exchange.begin(2, 2, [0] * ROWS)
    for node in exchange.ids:
        exchange.enter(node)
    return exchange, first, exchange.under_way[-1][1]


def test_a_neighbour_that_comes_back_begins_its_running_sums_anew():
    exchange, _, second = two_boots()
    receiver = exchange.nodes[1]
    before = list(receiver.mass)
    receiver.take(2, 0, second)
    _, sums = exchange.sums_for((2, 1, 0), second)
    assert receiver.mass == [before[index] + sums[index] for index in range(ROWS)]


def test_a_late_message_of_an_earlier_boot_is_not_counted_again():
    exchange, first, second = two_boots()
    receiver = exchange.nodes[1]
    receiver.take(2, 0, second)
    after = list(receiver.mass)
    assert raises(MessageError, receiver.take, 2, 0, first).reason == "stale"
    assert receiver.mass == after
    assert receiver.take(2, 0, second)
    assert receiver.mass == after


def test_a_new_step_begins_with_what_is_put_into_it():
    exchange = Exchange(SQUARE, 4)
    for _ in range(30):
        exchange.event(0, 0)
    old = list(exchange.under_way)
    exchange.total = [0] * ROWS
    exchange.said, exchange.seen, exchange.waits, exchange.under_way = {}, {}, {}, []
    for node in exchange.ids:
        sums = exchange.draw(10)
        exchange.nodes[node].begin(1, sums, True)
        exchange.total = [a + (b << exchange.run.fraction) for a, b in zip(exchange.total, sums)]
    for link, payload in old:
        exchange.enter(link[1])
        assert raises(MessageError, exchange.nodes[link[1]].take, link[0], link[2], payload).reason == "stale"
    assert old
    for moment in range(40):
        exchange.event(20, 20)
        exchange.check(moment)


def test_malformed_and_foreign_messages_add_nothing():
    exchange = Exchange(SQUARE, 5)
    for node in exchange.ids:
        exchange.enter(node)
    link, payload = exchange.under_way[0]
    receiver = exchange.nodes[link[1]]
    before = list(receiver.mass)
    cases = [(link[0], link[2], payload[:size], "length") for size in range(len(payload))] + [
        (link[0], link[2], payload + b"\x00", "length"),
        (link[0], link[2], b"\x23" + payload[1:], "version"),
        (link[0], link[2], b"\x11" + payload[1:], "version"),
        (link[0], link[2], payload[:1] + b"\x02" + payload[2:], "run"),
        (link[0], link[2], payload[:2] + b"\x63" + payload[3:], "sender"),
        (link[0], link[2], payload[:5] + b"\x01" + payload[6:], "sender"),
        (99, link[2], payload, "stranger"),
        (link[0], 7, payload, "stranger"),
        # A number of groups that the network can't have, or none.
        (link[0], link[2], payload[:7] + b"\x05" + payload[8:], "value"),
        (link[0], link[2], payload[:7] + b"\x00" + payload[8:], "value"),
    ]
    for sender, phase, wrong, reason in cases:
        assert raises(MessageError, receiver.take, sender, phase, wrong).reason == reason, (
            reason,
            wrong.hex(),
        )
        assert receiver.mass == before, wrong.hex()
    receiver.take(link[0], link[2], payload)
    assert receiver.mass != before


def test_a_running_sum_beyond_its_bits_is_refused():
    exchange = Exchange(PAIR, 6)
    for node in exchange.ids:
        exchange.enter(node)
    link, payload = exchange.under_way[0]
    # The topmost byte of the first sum: W is no whole number of bytes.
    width = (exchange.run.modulus_bits + 7) // 8
    assert exchange.run.modulus_bits % 8
    place = 8 + width - 1
    wrong = payload[:place] + b"\xff" + payload[place + 1 :]
    assert raises(MessageError, exchange.nodes[link[1]].take, link[0], 0, wrong).reason == "value"


def test_a_ratio_that_floors_have_lifted_above_the_grid_is_taken():
    """Of one point a neighbour gets a share of which the floor took more of the count than of the sum."""
    exchange = Exchange(PAIR, 7, points=2)
    exchange.rows[1]["phases"][0]["share"] = [[3 << 19, 1]]
    for node in exchange.ids:
        exchange.begin(node, 1, [1, 32767, 0, 0] if node == 1 else [0, 0, 0, 0])
    # The first slot of a window comes after the share has.
    for _ in range(3):
        for node in exchange.ids:
            exchange.enter(node)
        while exchange.under_way:
            link, payload = exchange.under_way.pop()
            exchange.deliver(link, payload)
    count, total = exchange.nodes[2].mass[:2]
    assert total > count * 32767, (count, total)
