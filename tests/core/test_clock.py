"""A node's wall time: oscillators that are off by percents, late and forged beacons, ticks that wrap."""

from support import raises

from dcka_core.clock import CARRIED, Clock, read_beacon
from dcka_core.errors import CoreError
from dcka_core.starts import Stream
from dcka_core.ticks import PERIOD

T0 = 200_000_000
LATE_MS = 500


class World:
    """The true time, and a node's clock whose sleeps take `ppm` millionths longer than it asks for."""

    def __init__(self, ppm, tick=0, seed=1):
        self.true_ms = 0
        self.ppm = ppm
        self.tick = tick
        self.clock = Clock(tick)
        self.drawn = Stream(seed, b"clock")

    def wake(self, ms):
        self.true_ms += ms
        self.tick = (self.tick + ms) % PERIOD

    def sleep(self, wall_s, again=True):
        """A deep sleep that shall last `wall_s`: ticks begin anew, and the state goes through 32-bit numbers."""
        asked = self.clock.to_ask(wall_s * 1000)
        self.true_ms += asked + asked * self.ppm // 1_000_000
        if again:
            carried = self.clock.carried()
            assert len(carried) == CARRIED and all(-(1 << 31) <= number < 1 << 31 for number in carried)
            self.tick = 0
            self.clock = Clock(0)
            self.clock.restore(carried)
        self.clock.slept(asked, self.tick)

    def beacon(self, late_ms=None, wrong_ms=0):
        """The host's word, which comes late."""
        said = self.true_ms + wrong_ms
        late = self.drawn.below(LATE_MS) if late_ms is None else late_ms
        self.wake(late)
        return self.clock.hear(T0 + said // 1000, said % 1000, self.tick)

    def off_ms(self):
        """How far the clock is behind the truth."""
        clock = self.clock
        now = clock.now(self.tick)
        ahead = clock.ms_until(now, self.tick)
        return self.true_ms - (now - T0) * 1000 + ahead

    def check(self):
        assert abs(self.off_ms()) <= self.clock.guard_ms(), (self.ppm, self.off_ms(), self.clock.guard_ms())


def test_the_guard_covers_every_drift_from_the_first_beacon_on():
    for ppm in range(-50_000, 50_001, 5_000):
        for sleeps in (
            (60,) * 40,
            (600,) * 30,
            (3600,) * 20,
            (500, 1600, 5000, 3600, 86400, 86400, 60, 3600),
        ):
            world = World(ppm, seed=len(sleeps))
            assert world.beacon()
            for wall_s in sleeps:
                world.sleep(wall_s)
                world.check()
                world.wake(200)
                assert world.beacon(), (ppm, wall_s)
                world.check()


def test_what_is_learned_makes_the_guard_small():
    for ppm in (-50_000, -1_234, 0, 50_000):
        world = World(ppm)
        world.beacon()
        first = world.clock.guard_ms(3600)
        assert 180_000 < first <= 240_000
        for _ in range(6):
            world.sleep(3600)
            world.beacon()
        assert abs(world.clock.drift_ppm - ppm) < 300, (ppm, world.clock.drift_ppm)
        assert world.clock.guard_ms(3600) < 6_000
        # And it wakes when it meant to: within the guard of an hour.
        before = world.true_ms
        world.sleep(3600)
        assert abs(world.true_ms - before - 3_600_000) < 2_000


def test_one_beacon_that_was_held_up_moves_nothing():
    world = World(20_000)
    world.beacon()
    for _ in range(5):
        world.sleep(3600)
        world.beacon()
    drift = world.clock.drift_ppm
    world.sleep(3600)
    for wrong_ms in (-90_000, 90_000, -3_600_000, 1 << 31):
        if T0 * 1000 + world.true_ms + wrong_ms > 0:
            assert not world.beacon(wrong_ms=wrong_ms)
            world.check()
            assert world.beacon()
    assert abs(world.clock.drift_ppm - drift) < 300


def test_two_that_agree_are_believed_and_an_oscillator_that_has_changed_is_learned_anew():
    world = World(-30_000)
    world.beacon()
    for _ in range(6):
        world.sleep(3600)
        world.beacon()
    world.ppm = 30_000
    world.sleep(3600)
    assert not world.beacon()
    world.wake(1000)
    assert world.beacon()
    assert abs(world.off_ms()) <= LATE_MS
    for _ in range(8):
        world.sleep(3600)
        if not world.beacon():
            assert world.beacon()
    assert abs(world.clock.drift_ppm - 30_000) < 300
    # One step is bounded where several had agreed.
    world.check()


def test_a_clock_of_the_host_that_was_put_right_teaches_nothing():
    world = World(10_000)
    world.beacon()
    for _ in range(4):
        world.sleep(3600)
        world.beacon()
    drift = world.clock.drift_ppm
    world.sleep(3600)
    assert not world.beacon(wrong_ms=-10 * 86_400_000)
    assert world.beacon(wrong_ms=-10 * 86_400_000)
    assert world.clock.drift_ppm == drift


def test_time_never_goes_back_in_a_run():
    for ppm in (-50_000, 50_000):
        world = World(ppm)
        last = 0
        for turn in range(200):
            if turn % 7 == 0:
                world.beacon(wrong_ms=-400)
            else:
                world.wake(world.drawn.below(3000))
            if turn % 20 == 10:
                world.sleep(30, again=False)
            now = world.clock.now(world.tick)
            assert now >= last, (ppm, turn)
            last = now
    clock = Clock(0)
    clock.hear(T0, 0, 0)
    assert clock.now(0) == T0
    clock.hear(T0 - 100, 0, 0)
    clock.hear(T0 - 100, 0, 0)
    assert clock.now(0) == T0 and clock.now(99_000) == T0 and clock.now(102_000) == T0 + 2
    clock.hear(T0 - 100, 0, 103_000)
    clock.hear(T0 - 100, 0, 103_000)
    clock.settle()
    assert clock.now(103_000) == T0 - 100


def test_ticks_wrap():
    for before in (0, 1, 999, 1000, 5000):
        clock = Clock((PERIOD - before) % PERIOD)
        clock.hear(T0, 250, (PERIOD - before) % PERIOD)
        assert clock.now((PERIOD - before + 10_750) % PERIOD) == T0 + 11, before
        assert clock.ms_until(T0 + 12, (PERIOD - before + 10_750) % PERIOD) == 1000


def test_sleep_within_is_where_the_guard_ends():
    for ppm in (-50_000, 0, 31_000):
        world = World(ppm)
        world.beacon()
        for wall_s in (500, 1500, 4000, 9000):
            world.sleep(wall_s)
            world.beacon()
            room = world.clock.sleep_within(30_000)
            assert world.clock.guard_ms(room) <= 30_010 < world.clock.guard_ms(room + 61)
    assert world.clock.sleep_within(1) == 0


def test_what_is_to_ask_is_what_passes():
    for ppm in (-50_000, -1, 0, 1, 50_000):
        clock = Clock(0)
        clock.drift_ppm = ppm
        for wall in (1, 999, 60_000, 86_400_000):
            asked = clock.to_ask(wall)
            assert asked >= 1 and abs(asked + asked * ppm // 1_000_000 - wall) <= 2


def test_a_foreign_state_is_refused():
    good = Clock(0).carried()
    for place, value in ((0, -1), (1, 1000), (2, 1 << 20), (3, 0), (4, -1), (5, -1), (6, 2), (7, 6)):
        bad = list(good)
        bad[place] = value
        raises(CoreError, Clock(0).restore, bad)
    Clock(0).restore(good)


def test_a_beacon_is_read_with_care():
    assert read_beacon({"v": 1, "time": 5, "ms": 7}) == (5, 7)
    for record in (
        {},
        {"v": 2, "time": 5, "ms": 7},
        {"v": 1, "time": "5", "ms": 7},
        {"v": 1, "time": True, "ms": 7},
        {"v": 1, "time": 5},
        {"v": 1, "time": 0, "ms": 0},
        {"v": 1, "time": 1 << 30, "ms": 0},
        {"v": 1, "time": 5, "ms": 1000},
        {"v": 1, "time": 5, "ms": -1},
    ):
        raises(CoreError, read_beacon, record)
