"""[sensors]: what it makes of node.json, which parts of the firmware, and what it refuses, in which words."""

import pytest

from dcka.config import parse
from dcka.errors import UsageError
from dcka.firmware_files import board_files, part_names
from dcka.sensing.settings import sensor_parts, sensor_settings

BME280 = '{ driver = "bme280", sda = 21, scl = 22, columns = { temperature = 2, attic_humidity = 1 } }'
DS18B20 = '{ driver = "ds18b20", pin = 4, columns = { soil = 2 } }'


def sensors(devices: str, more: str = ""):
    return parse(f"[sensors]\ndevices = [{devices}]\n{more}").sensors


def test_devices_become_what_node_json_says() -> None:
    adc = '{ driver = "adc", pin = 34, columns = { moist = 1 }, points = [[0.5, 0], [2.6, 100.5]], samples = 4 }'
    section = sensors(
        f"{BME280}, {DS18B20}, {adc}", "every_s = 30\nkeep_days = 2\nkeep_kb = 64\nreserve_kb = 128"
    )
    said = sensor_settings(section)
    assert said["parts"] == ["sensing"]
    told = said["sensors"]
    assert isinstance(told, dict)
    drivers = told.pop("drivers")
    assert told == {
        "columns": "temperature/2 attic_humidity/1 soil/2 moist/1",
        "every_s": 30,
        "sync_every": 10,
        "keep_s": 172800,
        "most": 65536,
        "reserve": 131072,
        "segment": 16384,
    }
    assert drivers == [
        {
            "driver": "bme280",
            "columns": ["temperature", "attic_humidity"],
            "decimals": [2, 1],
            "quantities": ["temperature", "humidity"],
            "sda": 21,
            "scl": 22,
            "address": 0x76,
        },
        {"driver": "ds18b20", "columns": ["soil"], "decimals": [2], "pin": 4, "rom": ""},
        {
            "driver": "adc",
            "columns": ["moist"],
            "decimals": [1],
            "pin": 34,
            "samples": 4,
            "low_uv": 500000,
            "high_uv": 2600000,
            "low": 0,
            "high": 1005,
        },
    ]
    assert sensor_parts(section) == ("sensing", "sensors.adc", "sensors.bme280", "sensors.ds18b20")


def test_a_file_may_stand_for_all_of_them() -> None:
    section = sensors(f"{BME280}, {DS18B20}")
    assert sensor_parts(section, replayed=True) == ("sensing", "sensors.replay")
    told = sensor_settings(section, replayed=True)["sensors"]
    assert isinstance(told, dict)
    assert told["drivers"] == [
        {
            "driver": "replay",
            "columns": ["temperature", "attic_humidity", "soil"],
            "file": "replay.bin",
            "every_s": 60,
        }
    ]


def test_without_devices_there_is_nothing() -> None:
    section = parse("").sensors
    assert (sensor_settings(section), sensor_parts(section)) == ({}, ())


def test_a_board_gets_the_drivers_that_it_needs_and_no_others() -> None:
    plain = {str(file.path) for file in board_files()}
    assert not [path for path in plain if "sens" in path or "segment" in path]
    more = {str(file.path) for file in board_files(parts=sensor_parts(sensors(DS18B20)))} - plain
    assert more == {
        "dcka_core/sampling.py",
        "dcka_core/segment_format.py",
        "dcka_core/segments.py",
        "dcka_core/window.py",
        "dcka_core/windows.py",
        "dcka_device/segment_files.py",
        "dcka_device/sensing.py",
        "dcka_device/sensors/ds18b20.py",
    }
    assert {"sensing", "sensors.adc", "sensors.replay"} <= set(part_names())


def test_two_thermometers_may_share_a_wire_and_two_chips_a_bus() -> None:
    roms = ("28ff641e8216037c", "28ff641e82160301")
    two = ", ".join(
        f'{{ driver = "ds18b20", pin = 4, rom = "{rom}", columns = {{ soil{place} = 2 }} }}'
        for place, rom in enumerate(roms)
    )
    assert len(sensors(two).columns) == 2
    chips = BME280 + ', { driver = "bme280", sda = 21, scl = 22, address = 0x77, columns = { pressure = 0 } }'
    assert [column.name for column in sensors(chips).columns] == ["temperature", "attic_humidity", "pressure"]


@pytest.mark.parametrize(
    ("devices", "says"),
    [
        ('{ driver = "dht11", pin = 4 }', 'device 1: driver = "dht11" is not known; did you mean "dht22"?'),
        ("{ pin = 4 }", "the drivers are adc, bme280, dht22, ds18b20"),
        ('{ driver = "ds18b20", columns = { soil = 2 } }', "pin is missing; it must be the number of a GPIO"),
        (
            '{ driver = "ds18b20", pin = 55, columns = { soil = 2 } }',
            "pin = 55; it must be the number of a GPIO",
        ),
        (
            '{ driver = "ds18b20", pin = 4, sda = 5, columns = { soil = 2 } }',
            "unknown key sda; its keys are driver,",
        ),
        ('{ driver = "ds18b20", pin = 4 }', "columns = None: it must be names with their decimals"),
        ('{ driver = "ds18b20", pin = 4, columns = { a = 1, b = 1 } }', "it gives one column"),
        (
            '{ driver = "ds18b20", pin = 4, columns = { "so il" = 2 } }',
            'the column "so il": a name begins with',
        ),
        ('{ driver = "ds18b20", pin = 4, columns = { soil = 7 } }', "its decimal places, 0 to 6"),
        ('{ driver = "ds18b20", pin = 4, rom = "28", columns = { soil = 2 } }', "the 16 hex digits"),
        (
            '{ driver = "dht22", pin = 4, columns = { temp = 1 } }',
            'the column "temp": it must be temperature, humidity',
        ),
        (BME280.replace("sda = 21", "sda = 22"), "has one pin twice: sda = 22, scl = 22"),
        (BME280.replace("scl = 22", "scl = 22, address = 3"), "a BME280 has 0x76 or 0x77"),
        (f"{DS18B20}, {DS18B20}", 'two columns are named "soil"'),
        (f"{DS18B20}, {DS18B20.replace('soil', 'air')}", "need each its rom"),
        (
            f"{DS18B20}, {{ driver = 'adc', pin = 4, columns = {{ a = 0 }} }}",
            "pin 4 is of two devices: ds18b20 and adc",
        ),
        ('{ driver = "adc", pin = 34, columns = { a = 0 }, points = [[1, 0]] }', "points is two pairs"),
        ('{ driver = "adc", pin = 34, columns = { a = 0 }, points = [[2, 0], [1, 5]] }', "the volts go up"),
        (
            '{ driver = "adc", pin = 34, columns = { a = 6 }, points = [[0, 0], [1, 5000]] }',
            "has to fit 32 bits",
        ),
        ('{ driver = "adc", pin = 34, columns = { a = 0 }, samples = 0 }', "samples = 0: it must be"),
    ],
)
def test_what_does_not_fit_is_a_sentence(devices: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        sensors(devices)
    assert "line 2: [sensors] devices" in str(caught.value) and says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_sensor_is_asked_more_often_than_it_bears() -> None:
    with pytest.raises(UsageError, match="every_s = 1: a dht22 needs 2 s"):
        sensors('{ driver = "dht22", pin = 4, columns = { humidity = 1 } }', "every_s = 1")


def test_the_template_with_sensors_is_read_back() -> None:
    from dcka.config import template

    assert parse(template()).sensors.devices == ()
