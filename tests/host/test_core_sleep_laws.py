"""Laws of the clock, the rota and what RTC memory carries, for whatever hypothesis thinks of."""

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dcka_core import carry, clock, rota

LAW = settings(deadline=None, derandomize=True, max_examples=150)
T0 = 200_000_000
NIGHTS = st.lists(
    st.tuples(st.integers(20, 90_000), st.integers(0, 499), st.integers(0, 60_000)), max_size=25
)


@LAW
@given(st.integers(-50_000, 50_000), NIGHTS)
def test_the_guard_covers_a_constant_drift_and_every_beacon_is_believed(ppm, nights):
    """nights: (s asleep, ms that the beacon is late, ms awake), with a clock that is right while it is awake."""
    own = clock.Clock(0)
    assert own.hear(T0, 0, 0)
    true_ms = 0
    for wall_s, late_ms, awake_ms in nights:
        asked = own.to_ask(wall_s * 1000)
        true_ms += asked + asked * ppm // 1_000_000
        own.slept(asked, 0)
        true_ms += awake_ms
        off = true_ms - (own.now(awake_ms) - T0) * 1000 + own.ms_until(own.now(awake_ms), awake_ms)
        assert abs(off) <= own.guard_ms()
        said = true_ms
        true_ms += late_ms
        assert own.hear(T0 + said // 1000, said % 1000, awake_ms + late_ms)
        assert own.spread_ppm <= 60_000
        own.restore(own.carried())


@LAW
@given(
    st.integers(0, 3600),
    st.integers(10, 100_000),
    st.integers(-100_000, 100_000),
    st.integers(1, 600),
    st.integers(0, 400_000),
    st.one_of(st.none(), st.integers(0, 100)),
    st.integers(0, 200),
    st.integers(0, 12),
)
def test_there_is_always_something_next_and_it_never_spins(
    sample_s, every_s, ahead_s, awake_s, slept_s, battery, held, vain
):
    own = clock.Clock(0)
    own.hear(T0, 0, 0)
    own.slept(1000 * slept_s, 0)
    now = own.now(0)
    rotas = rota.Rota(sample_s, 200)
    rotas.take_pace(rota.Pace(every_s, T0 + ahead_s, awake_s))
    rotas.held, rotas.vain, rotas.asked_at = held, vain, now
    what, at, until = rotas.next(now, own, battery)
    assert until >= at
    if battery is not None and battery < rota.EMPTY:
        assert not what & rota.SPEAK
    if what & rota.JOIN:
        number = rotas.number(now, own, battery)
        start = rotas.pace.start_of(number)
        assert at <= start <= until
        # Once it is over for this node, the next one is a later one.
        rotas.awake_for(number)
        assert rotas.number(now, own, battery) > number
    if what & rota.SAMPLE and not what & rota.SPEAK:
        assert at % sample_s == 0
        taken = rotas.took_reading(max(at, now))
        assert taken == rotas.sampled and not rotas.due(max(at, now))
    if not what:
        assert at > now


@LAW
@given(
    st.integers(-(1 << 30), (1 << 31) - 1),
    st.integers(0, 255),
    st.one_of(st.none(), st.integers(0, 100)),
    st.lists(st.integers(-(1 << 31), (1 << 31) - 1), min_size=clock.CARRIED, max_size=clock.CARRIED),
    st.lists(st.integers(-(1 << 31), (1 << 31) - 1), min_size=rota.CARRIED, max_size=rota.CARRIED),
    st.binary(max_size=524),
    st.integers(0),
    st.integers(1, 255),
)
def test_what_is_carried_comes_back_whole_or_not_at_all(
    asked, bad, battery, of_clock, of_rota, frame, place, flip
):
    record = carry.Carried(asked, bad, battery, of_clock, of_rota, frame).encode()
    assert len(record) <= 2048
    found = carry.read(record)
    assert found is not None
    assert (found.asked_ms, found.bad, found.battery) == (asked, bad, battery)
    assert (found.clock, found.rota, found.frame) == (of_clock, of_rota, frame)
    damaged = bytearray(record)
    damaged[place % len(record)] ^= flip
    assert carry.read(bytes(damaged)) is None
    assert carry.read(record[: place % len(record)]) is None


@LAW
@given(st.binary(max_size=300))
def test_garbage_is_no_record(memory):
    assume(not memory.startswith(b"dckS"))
    assert carry.read(memory) is None
    assert carry.read(b"dckS\x01" + memory) is None
