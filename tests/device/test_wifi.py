"""The radio's state machine over a scripted air: on CPython, and on MicroPython from this same file."""

from bench import Flash, network
from wifi_bench import FIXED, LOOK_MS, A, B, Case


def test_it_joins_and_says_so():
    case = Case()
    network.air.add("home", "secret99", channel=11)
    case.run_until("wifi joined")
    assert case.lines == ["wifi joining home", "wifi joined 192.168.1.103 channel 11"]
    assert case.run(60000)
    assert len(case.lines) == 2


def test_joins_are_counted_and_attempts_are_not():
    case = Case()
    case.run_until("wifi failed")
    assert case.radio.joined == 0
    point = network.air.add("home", "secret99")
    case.run_until("wifi joined")
    assert case.run(5000) and case.radio.joined == 1
    network.air.access_points.remove(point)
    case.run_until("wifi lost")
    assert case.radio.joined == 1
    network.air.add("home", "secret99")
    case.run_until("wifi joined")
    assert case.radio.joined == 2


def test_the_status_has_how_well_the_access_point_is_heard():
    case = Case()
    point = network.air.add("home", "secret99", rssi=-61)
    told = case.radio.told = {}
    case.run_until("wifi joined")
    case.run(LOOK_MS)
    assert told == {"rssi": -61}
    point["rssi"] = -70
    case.run(9000)
    assert told == {"rssi": -61}
    case.run(2000)
    assert told == {"rssi": -70}


def test_an_open_network_is_joined_without_a_key():
    case = Case({"ssid": "home", "password": ""})
    network.air.add("home")
    case.run_until("wifi joined")
    assert network.air.named("connect") == [("home", None, A)]


def test_a_hidden_network_is_joined_by_its_name():
    case = Case()
    network.air.add("home", "secret99", hidden=True)
    case.run_until("wifi joined")
    assert network.air.named("connect") == [("home", "secret99", None)]
    assert case.flash.written == 0


def test_the_strongest_of_one_name_is_joined():
    case = Case()
    network.air.add("home", "secret99", rssi=-80)
    network.air.add("home", "secret99", rssi=-40, bssid="0200000000b2", channel=3)
    network.air.add("other", "secret99", rssi=-20, bssid="0200000000c3")
    case.run_until("wifi joined")
    assert network.air.named("connect") == [("home", "secret99", B)]


def test_why_it_failed():
    for refusal in (15, 202, 204):
        case = Case()
        network.air.add("home", "other678", refusal=refusal)
        case.run_until("wifi failed")
        assert case.lines[-1] == "wifi failed: wrong password", refusal
    case = Case()
    network.air.add("elsewhere", "secret99")
    case.run_until("wifi failed")
    assert case.lines[-1] == "wifi failed: no access point"
    case = Case()
    network.air.add("home", "secret99", dhcp=False)
    case.run_until("wifi failed")
    assert case.lines[-1] == "wifi failed: no address"
    case = Case()
    network.air.add("home", "other678", refusal=203)
    case.run_until("wifi failed")
    assert case.lines[-1] == "wifi failed: cannot associate (203)"


def test_a_network_of_other_security_is_not_called_missing():
    case = Case({"ssid": "home", "password": ""})
    network.air.add("home", "secret99")
    case.run_until("wifi failed")
    assert case.lines[-1] == "wifi failed: cannot associate (210)"


def test_the_same_failure_has_the_same_name_each_time():
    for point, why in (
        ({"ssid": "elsewhere"}, "no access point"),
        ({"ssid": "home", "password": "other678", "refusal": 202}, "wrong password"),
        ({"ssid": "home", "password": "other678", "refusal": 15}, "wrong password"),
        ({"ssid": "home", "password": "secret99", "dhcp": False}, "no address"),
    ):
        case = Case()
        network.air.add(**point)
        for _ in range(4):
            case.run_until("wifi failed")
            assert case.lines[-1] == "wifi failed: " + why, case.lines


def test_what_ended_the_last_attempt_does_not_end_the_next():
    # The port's `status` says 201 or 202 until there is an address: an attempt must be given its time all the same.
    for wrong in ("elsewhere", "home"):
        case = Case()
        point = network.air.add(wrong, "other678", refusal=202)
        case.run_until("wifi failed")
        point["ssid"], point["password"] = "home", "secret99"
        case.run_until("wifi joined", 30000)
        assert case.said("wifi failed") == 1, case.lines


def test_a_new_reason_after_an_old_one_is_told_at_once():
    case = Case()
    point = network.air.add("elsewhere", "other678")
    case.run_until("wifi failed")
    point["ssid"] = "home"
    case.run_until("wifi joining")
    case.run_until("wifi failed", network.air.scan_ms + network.air.refused_ms + LOOK_MS)
    assert case.lines[-1] == "wifi failed: wrong password"


def gaps_of(case, count):
    """The pauses between a failure and the next attempt."""
    gaps = []
    for _ in range(count):
        case.run_until("wifi failed")
        failed = len(case.lines) - 1
        case.run_until("wifi joining")
        gaps.append(case.moments[failed + 1] - case.moments[failed])
    return gaps


def near(gaps, wanted):
    return len(gaps) == len(wanted) and max(abs(gaps[i] - wanted[i]) for i in range(len(gaps))) <= LOOK_MS


def test_the_pause_doubles_up_to_a_minute():
    gaps = gaps_of(Case(jitter=0), 9)
    wanted = [2000, 4000, 8000, 16000, 32000, 60000, 60000, 60000, 60000]
    assert near(gaps, wanted), gaps


def test_a_quarter_of_the_pause_is_chance():
    gaps = gaps_of(Case(jitter=1 << 20), 9)
    wanted = [1500, 3000, 6000, 12000, 24000, 45000, 45000, 45000, 45000]
    assert near(gaps, wanted), gaps


def test_after_a_join_the_pauses_begin_anew():
    case = Case()
    gaps_of(case, 5)
    point = network.air.add("home", "secret99")
    case.run_until("wifi joined")
    network.air.access_points.remove(point)
    case.run_until("wifi lost")
    assert abs(gaps_of(case, 1)[0] - 2000) <= LOOK_MS


def test_the_place_is_kept_and_saves_the_scan():
    case = Case()
    network.air.add("home", "secret99", channel=3)
    case.run_until("wifi joined")
    assert case.flash.files == {"wifi.bin": A + b"\x03home"}
    flash = case.flash
    case = Case(flash=flash)
    network.air.add("home", "secret99", channel=3)
    case.run_until("wifi joined")
    assert network.air.named("scan") == []
    assert network.air.named("connect") == [("home", "secret99", A)]
    assert flash.written == 1


def test_the_place_of_another_network_is_not_used():
    flash = Flash()
    for record in (A + b"\x03homely", A + b"\x03hom", b"", b"\x00", A + b"\x03"):
        flash.files["wifi.bin"] = record
        case = Case(flash=flash)
        network.air.add("home", "secret99", bssid="0200000000b2")
        case.run_until("wifi joined")
        assert case.said("wifi failed") == 0, record


def test_an_access_point_that_moved_is_found_again_and_written_once():
    case = Case()
    point = network.air.add("home", "secret99", channel=3)
    case.run_until("wifi joined")
    network.air.access_points.remove(point)
    case.run_until("wifi lost")
    network.air.add("home", "secret99", bssid="0200000000b2", channel=9)
    case.run_until("wifi joined")
    assert case.flash.files == {"wifi.bin": B + b"\x09home"}
    assert case.flash.written == 2
    assert case.lines[-1] == "wifi joined 192.168.1.103 channel 9"


def test_a_stale_place_on_flash_costs_one_attempt():
    flash = Flash()
    flash.files["wifi.bin"] = B + b"\x09home"
    case = Case(flash=flash)
    network.air.add("home", "secret99", channel=3)
    case.run_until("wifi joined")
    assert case.said("wifi failed") == 1
    assert flash.files == {"wifi.bin": A + b"\x03home"}


def test_a_full_flash_costs_the_cache_alone():
    case = Case()
    case.flash.full = True
    network.air.add("home", "secret99")
    case.run_until("wifi joined")
    assert case.run(10000)
    assert case.said("wifi.bin can't be written") == 1


def test_a_static_address_is_set_before_the_connect():
    case = Case(FIXED)
    network.air.add("home", "secret99", dhcp=False)
    took = case.run_until("wifi joined")
    assert case.lines[-1] == "wifi joined 192.168.1.50 channel 6"
    names = [call[0] for call in network.air.calls]
    assert names.index("ifconfig") < names.index("connect")
    assert took < network.air.scan_ms + network.air.associate_ms + network.air.address_ms


def test_a_soft_reset_leaves_nothing_of_the_network_before():
    case = Case(FIXED)
    network.air.add("home", "secret99")
    case.run_until("wifi joined")
    # What a new node.json says is what counts, although the radio is still connected as the old one said.
    case.settings = {"ssid": "home", "password": "mistyped"}
    case.radio = case.start()
    assert not case.radio.tick(case.clock())
    case.run_until("wifi failed")
    assert case.lines[-1] == "wifi failed: wrong password"
    case.settings = {"ssid": "home", "password": "secret99"}
    case.radio = case.start()
    case.run_until("wifi joined")
    assert case.lines[-1] == "wifi joined 192.168.1.103 channel 6"


def test_a_soft_reset_in_the_middle_of_an_attempt():
    case = Case()
    network.air.add("home", "secret99")
    case.run(network.air.scan_ms + 300)
    assert case.said("wifi joined") == 0
    case.radio = case.start()
    case.run_until("wifi joined", 6000)
    assert case.said("wifi failed") == 0


def test_lost_and_found_again():
    case = Case()
    network.air.add("home", "secret99", until_ms=60000)
    network.air.add("home", "secret99", from_ms=200000)
    case.run_until("wifi joined")
    case.run_until("wifi lost")
    assert not case.radio.tick(case.clock())
    case.run_until("wifi joined")
    assert case.run(1000)
    # An attempt and a pause may just have begun when it came back.
    assert network.air.now() < 200000 + 60000 + 20000
    assert case.said("wifi lost") == 1
