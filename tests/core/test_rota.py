"""What a sleeper does next: whole months of wakes, by a world that has other clocks than it."""

from support import raises

from dcka_core.clock import Clock
from dcka_core.errors import CoreError
from dcka_core.rota import (
    AIM_S,
    CARRIED,
    EMPTY,
    JOIN,
    LEAST_SLEEP_S,
    LOW,
    SAMPLE,
    SPEAK,
    SYNC,
    Pace,
    Rota,
    read_pace,
)

T0 = 200_000_000
BOOT_MS = 300


class Life:
    """A node that lives by its rota. The host says the time to whoever speaks, while it is there (`host`)."""

    def __init__(self, ppm=0, sample_s=60, hold=100, pace=(3600, T0 + 1800, 20), host=lambda second: True):
        self.true_ms = T0 * 1000
        self.ppm = ppm
        self.tick = 0
        self.clock = Clock(0)
        self.rota = Rota(sample_s, hold)
        self.pace = Pace(*pace) if pace else None
        self.host = host
        self.battery = None
        self.readings = []
        self.synced = 0
        self.joins = []
        self.listens = []
        self.awake_ms = 0

    def pass_by(self, ms):
        self.true_ms += ms
        self.tick += ms
        self.awake_ms += ms

    def now(self):
        return self.clock.now(self.tick)

    def sleep_until(self, at):
        wall_ms = self.clock.ms_until(at, self.tick)
        if wall_ms < LEAST_SLEEP_S * 1000:
            self.pass_by(max(0, wall_ms))
            return
        asked = self.clock.to_ask(wall_ms)
        kept = self.clock.carried(), self.rota.carried()
        self.true_ms += asked + asked * self.ppm // 1_000_000
        self.clock, self.rota = Clock(0), Rota(self.rota.sample_s, self.rota.hold)
        self.clock.restore(kept[0])
        self.rota.restore(kept[1])
        self.tick = 0
        self.clock.slept(asked, 0)
        self.pass_by(BOOT_MS)

    def turn(self):
        what, at, until = self.rota.next(self.now(), self.clock, self.battery)
        assert until >= at
        if at > self.now():
            self.sleep_until(at)
            return
        if what & SPEAK:
            self.speak(what, until)
        elif what & SAMPLE:
            self.sample()
            if what & SYNC:
                self.sync()
        else:
            raise AssertionError("nothing to do at once")

    def sample(self):
        self.readings.append(self.rota.took_reading(self.now()))
        self.rota.held += 1
        assert self.rota.held <= self.rota.hold
        self.pass_by(10)

    def sync(self):
        self.synced += self.rota.held
        self.rota.held = 0

    def speak(self, what, until):
        began = self.true_ms
        self.sync()
        self.pass_by(1000)
        second = self.true_ms // 1000
        heard = self.host(second)
        if heard:
            for _ in range(2):
                self.clock.hear(second, self.true_ms % 1000, self.tick)
            self.rota.take_pace(self.pace)
        if what & JOIN:
            number = self.rota.number(self.now(), self.clock, self.battery)
            start = self.rota.pace.start_of(number)
            # By the true time: there when it begins.
            self.joins.append((number, began // 1000 - start))
            while self.now() < until:
                self.pass_by(500)
                if self.rota.due(self.now()):
                    self.readings.append(self.rota.took_reading(self.now()))
            self.rota.awake_for(number)
        else:
            self.listens.append(began // 1000 - T0)
            while not heard and self.now() < until:
                self.pass_by(500)
        self.rota.asked(self.now(), heard, 1)

    def live(self, seconds):
        end = self.true_ms + seconds * 1000
        turns = 0
        while self.true_ms < end:
            self.turn()
            turns += 1
            assert turns < seconds // 4 + 1000, "it spins"
        return self


DRIFTS = (-50_000, -20_000, 0, 3_000, 50_000)


def test_every_clustering_finds_it_awake_whatever_its_clock():
    for ppm in DRIFTS:
        for pace in ((3600, T0 + 1800, 20), (600, T0 + 400, 5), (86_400, T0 + 4000, 30)):
            days = 2 if pace[0] < 86_400 else 12
            life = Life(ppm, sample_s=600, pace=pace).live(days * 86_400)
            numbers = [number for number, _ in life.joins]
            assert numbers[-1] >= days * 86_400 // pace[0] - 2
            assert numbers == list(range(numbers[0], numbers[-1] + 1)), (ppm, pace)
            assert numbers[0] <= 3
            for number, began in life.joins:
                assert -2 * AIM_S - 10 <= began <= 0, (ppm, pace, number, began)


def test_readings_come_on_time_each_once_and_none_is_lost():
    for ppm in DRIFTS:
        for sample_s in (10, 60, 900):
            life = Life(ppm, sample_s=sample_s, hold=50).live(43_200)
            readings = life.readings
            assert [one % sample_s for one in readings] == [0] * len(readings)
            gaps = [readings[place] - readings[place - 1] for place in range(1, len(readings))]
            assert min(gaps) >= sample_s
            # A beacon that corrects by more than a period may step over one that never was.
            missed = sum(gap // sample_s - 1 for gap in gaps)
            assert missed == life.rota.skipped and missed <= 43_200 * 0.06 // sample_s // 20 + 3, (
                ppm,
                sample_s,
            )


def test_it_is_awake_for_clusterings_and_hardly_for_anything_else():
    for ppm in DRIFTS:
        life = Life(ppm, sample_s=300).live(4 * 86_400)
        asleep = 1 - life.awake_ms / (4 * 86_400_000)
        # Of each hour 20 s that the pace asks for, some 15 of guards, and a third of a second for each reading.
        assert asleep > 0.98, (ppm, asleep)
        assert len(life.listens) <= 8, life.listens


def test_a_host_that_is_away_is_asked_ever_less_and_found_again():
    for ppm in DRIFTS:
        away = lambda second: not T0 + 86_400 < second < T0 + 6 * 86_400  # noqa: E731
        life = Life(ppm, sample_s=600, host=away).live(8 * 86_400)
        listens = [second for second in life.listens if 86_400 < second < 6 * 86_400]
        # Twelve a day at most.
        assert len(listens) < 5 * 12 + 10
        back = [second for second in life.listens if second >= 6 * 86_400]
        assert back and back[0] < 6 * 86_400 + 2 * 7200
        assert life.joins[-1][0] == 8 * 24 - 1 or life.joins[-1][0] == 8 * 24 - 2
        assert life.rota.vain == 0


def test_a_node_that_was_never_told_the_time_neither_samples_nor_stays_awake():
    life = Life(host=lambda second: False).live(86_400)
    assert life.readings == [] and life.joins == []
    assert 12 <= len(life.listens) <= 22
    assert life.awake_ms < 86_400_000 // 100


def test_a_full_hold_is_synced_and_so_is_what_is_held_when_it_speaks():
    life = Life(sample_s=60, hold=7, pace=(86_400, T0 + 40_000, 20)).live(30_000)
    assert life.synced >= len(life.readings) - 7
    assert life.synced > 0.9 * 30_000 // 60
    rota = life.rota
    rota.held = 3
    what, _, _ = rota.next(T0 + 40_000 - 1, life.clock)
    assert what & JOIN and what & SYNC


def test_without_a_sensor_there_are_no_sampling_wakes():
    life = Life(sample_s=0).live(86_400)
    assert life.readings == [] and len(life.joins) >= 22


def test_a_low_battery_takes_part_in_every_fourth_and_an_empty_one_samples_alone():
    life = Life().live(7200)
    life.battery = LOW - 1
    before = len(life.joins)
    life.live(86_400)
    assert [number % 4 for number, _ in life.joins[before:]] == [0] * 6
    life.battery = EMPTY - 1
    before = len(life.joins), len(life.listens), len(life.readings)
    life.live(86_400)
    assert before[:2] == (len(life.joins), len(life.listens))
    assert len(life.readings) > before[2] + 1300
    # Without a sensor, too, it has something to wait for.
    what, at, _ = Rota(0, 1).next(T0, life.clock, EMPTY - 1)
    assert what == 0 and at > T0


def test_a_clustering_that_the_host_has_seen_to_its_end_is_not_waited_for():
    life = Life().live(3 * 3600)
    now = life.pace.start_of(5) + 2
    life.clock.hear(now, 0, life.tick)
    life.clock.hear(now, 0, life.tick)
    life.rota.joined = 4
    assert life.rota.number(now, life.clock, None) == 5
    life.rota.take_pace(Pace(3600, T0 + 1800, 20, 5))
    assert life.rota.number(now, life.clock, None) == 6
    # Another pace is counted from another beginning.
    life.rota.take_pace(Pace(3600, T0 + 1860, 20))
    assert life.rota.joined == -1


def test_a_new_pace_in_the_past_and_one_far_ahead():
    pace = Pace(3600, T0, 20)
    assert [pace.number_at(T0 + second) for second in (-5, 0, 1, 3600, 3601)] == [0, 0, 1, 1, 2]
    life = Life(pace=(3600, T0 + 5 * 86_400, 20)).live(86_400)
    assert life.joins == [] and len(life.listens) < 10


def test_a_pace_is_read_with_care():
    good = {"v": 1, "every_s": 3600, "at": T0, "awake_s": 20}
    assert read_pace(good).every_s == 3600 and read_pace(good).done == -1
    assert read_pace({"v": 1, "every_s": 0, "at": 0, "awake_s": 0}) is None
    for name, value in (
        ("v", 2),
        ("every_s", 9),
        ("every_s", True),
        ("every_s", -1),
        ("every_s", 1 << 22),
        ("at", 0),
        ("at", "now"),
        ("at", 1 << 30),
        ("awake_s", 0),
        ("awake_s", 3601),
        ("done", -2),
        ("done", None),
    ):
        bad = dict(good)
        bad[name] = value
        raises(CoreError, read_pace, bad)


def test_a_foreign_state_is_refused():
    life = Life().live(7200)
    good = life.rota.carried()
    assert len(good) == CARRIED
    Rota(60, 100).restore(good)
    for place in range(CARRIED):
        bad = list(good)
        bad[place] = -7
        if place not in (6, 9):  # the last clustering, when it last asked: any number is one
            raises(CoreError, Rota(60, 100).restore, bad)
    raises(CoreError, Rota(60, 0).restore, good[:7] + [1] + good[8:])
