"""The radio's refusals, its clock and its sleep, over a scripted air: on CPython and on MicroPython."""

from bench import machine, network
from wifi_bench import Case


def test_refusals_of_the_chip_are_failed_joins():
    for method, error in (
        ("active", OSError("Wifi Internal Error")),
        ("active", RuntimeError("Wifi Unknown Error 0x0101")),
        ("config", OSError("Wifi Internal State Error")),
        ("scan", OSError("Wifi Internal Error")),
        ("connect", OSError("Wifi Internal State Error")),
        ("ipconfig", RuntimeError("Wifi Unknown Error 0x5001")),
    ):
        case = Case()
        network.air.add("home", "secret99")
        network.air.faults[method] = [error]
        case.run_until("wifi joined")
        assert case.lines[1] == f"wifi failed: cannot associate ({error})", (method, case.lines)
        # Switched off and on: whatever state it was in.
        assert network.air.named("active")[-2:] == [(False,), (True,)]


def test_refusals_of_a_disconnect_are_borne():
    case = Case()
    network.air.add("home", "other678")
    network.air.faults["disconnect"] = [OSError("Wifi Not Started")]
    case.run_until("wifi failed")
    network.air.access_points[0]["password"] = "secret99"
    case.run_until("wifi joined")


def test_nothing_blocks_for_longer_than_a_scan():
    case = Case()
    network.air.add("home", "other678")
    case.run(120000)
    assert case.clock.blocked and max(case.clock.blocked) == network.air.scan_ms


def test_ticks_that_wrap_in_every_state():
    # The wrap falls into the scan, the association, the wait for an address, the pause, the rest.
    for before in range(100, 45000, 700):
        case = Case(now=(1 << 30) - before)
        network.air.add("home", "secret99", from_ms=4000, until_ms=30000)
        network.air.add("home", "secret99", from_ms=45000)
        case.run(100000)
        said = [line.split(" ")[1] for line in case.lines]
        assert case.lines[-1].startswith("wifi joined"), (before, case.lines)
        assert said.count("lost") == 1 and said.count("joined") == 2, (before, case.lines)
        assert said.count("failed:") <= 4, (before, case.lines)


def test_an_attempt_that_begins_at_tick_zero_ends_too():
    case = Case(now=(1 << 30) - network.air.scan_ms)
    network.air.add("home", "secret99", dhcp=False)
    case.run_until("wifi failed", 20000)
    assert case.lines[-1] == "wifi failed: no address"


CAPPED = {"ssid": "home", "password": "secret99", "awake_cap_s": 60}


def sleep_of(case):
    """Run until it goes to sleep; (seconds awake, seconds of sleep)."""
    began = network.air.now()
    try:
        case.run(300000)
    except machine.Ended as ended:
        assert ended.how == "deepsleep"
        return (network.air.now() - began) / 1000, ended.ms / 1000
    raise AssertionError(f"it stays awake: {case.lines}")


def test_the_awake_time_has_a_cap_and_the_sleep_doubles():
    slept = []
    for _ in range(7):
        kept = machine.board.rtc
        case = Case(CAPPED)
        machine.board.rtc = kept
        awake, seconds = sleep_of(case)
        # An attempt that has begun is not cut off.
        assert 60 <= awake < 60 + 20, awake
        assert case.lines[-1] == f"asleep for {int(seconds)} s: no access point for 60 s"
        assert network.air.named("active")[-1] == (False,)
        slept.append(seconds)
    assert slept == [60, 120, 240, 480, 900, 900, 900]


def test_a_quarter_of_the_sleep_is_chance():
    case = Case(CAPPED, jitter=1 << 20)
    assert sleep_of(case)[1] == 60 - 14


def test_a_join_forgets_the_sleeps():
    case = Case(CAPPED)
    machine.board.rtc = b"dcka\x04"
    point = network.air.add("home", "secret99")
    case.run_until("wifi joined")
    assert machine.board.rtc == b""
    assert case.run(300000)
    # The awake time counts from when it was lost.
    network.air.access_points.remove(point)
    case.run_until("wifi lost")
    awake, seconds = sleep_of(case)
    assert 60 <= awake < 60 + 20 and seconds == 60


def test_foreign_rtc_memory_is_no_count():
    for kept in (b"x", b"dcka", b"dckax123", bytes(2048), b"other"):
        case = Case(CAPPED)
        machine.board.rtc = kept
        assert sleep_of(case)[1] == 60, kept
    case = Case(CAPPED)
    machine.board.rtc = b"dcka\xff"
    assert sleep_of(case)[1] == 900


def test_without_a_cap_it_stays_awake():
    case = Case()
    case.run(400000)
    assert case.said("asleep") == 0


def test_what_a_deep_sleeper_keeps_outlives_a_join():
    case = Case()
    network.air.add("home", "secret99")
    machine.board.rtc = b"dckS\x01and more"
    case.run_until("wifi joined")
    assert machine.board.rtc == b"dckS\x01and more"
