"""Drivers on fakes of their chips: the right whole numbers, or an error; never a wrong reading."""

import sys
from array import array

sys.path.insert(0, __file__.rsplit("/", 2)[0] + "/core")

from bench import Folder, fresh
from machine import board
from onewire import Thermometer
from support import raises

from dcka_core.sampling import SensorError
from dcka_device.sensing import open_sensor

ROM = bytes.fromhex("28ff641e8216037c")
OTHER = bytes.fromhex("28ff641e82160301")
# The example of Bosch's BST-BMP280-DS001, section 3.12: T1 ... T3, P1 ... P9 and the raw values, which are 25.08 °C and
# 100653.27 Pa.
KNOWN = (27504, 26435, -1000, 36477, -10685, 3024, 2855, 140, -7, 15500, -14600, 6000)
RAW_TEMPERATURE, RAW_PRESSURE = 519888, 415148
# H1 ... H6 as chips have them; Bosch has no example.
HUMID = (75, 370, 0, 311, 50, 30)


def read(sensor, places=1, first=0):
    """start, and then the numbers from place `first` on; the others stay."""
    assert sensor.start() >= 0
    values = array("i", [-999] * (first + places + 1))
    sensor.read(values, first)
    assert list(values[:first]) == [-999] * first and values[first + places] == -999
    return list(values)[first : first + places]


def text_of(function, *arguments):
    return str(raises(SensorError, function, *arguments))


# ---- ADC


def adc(**more):
    settings = {"driver": "adc", "columns": ["soil"], "decimals": [1], "pin": 34, "samples": 4}
    settings.update({"low_uv": 500000, "high_uv": 2500000, "low": 0, "high": 1000})
    settings.update(more)
    return open_sensor(settings)


def test_a_voltage_goes_through_the_line():
    fresh()
    for level, value in (
        (500000, 0),
        (2500000, 1000),
        (1500000, 500),
        (1501000, 501),
        (1500999, 500),
        (300000, -100),
    ):
        board.wires[34] = level
        assert read(adc(), first=2) == [value], level
    board.wires[34] = 1500000
    assert read(adc(low=1000, high=0)) == [500]
    assert adc().start() == 0


def test_noise_is_averaged_away_and_rounded_half_up():
    fresh()
    levels = [1500000, 1504000, 1500000, 1500000]
    board.wires[34] = lambda: levels.pop(0)
    assert read(adc()) == [501]  # 1,501,000 µV in the mean: 500.5


def test_a_read_at_the_end_of_the_range_is_no_reading():
    fresh()
    levels = [1500000, 3150000, 1500000, 1500000]
    board.wires[34] = lambda: levels.pop(0)
    sensor = adc()
    assert "3150 mV" in text_of(read, sensor)


# ---- DS18B20


def thermometer(**more):
    settings = {"driver": "ds18b20", "columns": ["soil"], "decimals": [2], "pin": 4, "rom": ""}
    settings.update(more)
    return open_sensor(settings)


def test_a_thermometer_says_hundredths_of_a_degree():
    fresh()
    # Data sheet, table 1; and half up.
    for sixteenths, value in (
        (2000, 12500),
        (401, 2506),
        (8, 50),
        (0, 0),
        (-8, -50),
        (-162, -1012),
        (-880, -5500),
    ):
        board.wires[4] = {ROM: Thermometer(sixteenths)}
        assert read(thermometer(), first=1) == [value], sixteenths
    board.wires[4] = {ROM: Thermometer(85 * 16)}
    assert read(thermometer()) == [8500]
    assert read(thermometer(decimals=[0])) == [85]
    assert thermometer().start() == 750


def test_of_several_on_a_bus_one_is_named():
    fresh()
    board.wires[4] = {ROM: Thermometer(16), OTHER: Thermometer(32)}
    assert read(thermometer(rom=OTHER.hex())) == [200] and read(thermometer(rom=ROM.hex())) == [100]
    assert "2 thermometers" in text_of(thermometer().start)


def test_no_wrong_temperature_is_a_reading():
    fresh()
    sensor = thermometer()
    assert "0 thermometers" in text_of(sensor.start)
    assert "nobody answers" in text_of(thermometer(rom=ROM.hex()).start)
    device = Thermometer(320)
    board.wires[4] = {ROM: device}
    assert read(sensor) == [2000]
    values = array("i", [7])

    def zeros(content):
        return bytes(9)

    def ones(content):
        return b"\xff" * 9

    for place in range(9):
        for bit in range(8):

            def flipped(content, place=place, bit=bit):
                content[place] ^= 1 << bit
                return content

            device.broken = flipped
            assert text_of(sensor.read, values, 0) == "CRC error", (place, bit)
    for broken in (zeros, ones):
        device.broken = broken
        text_of(sensor.read, values, 0)
    device.broken = None
    device.power_on()
    assert "lost its power" in text_of(sensor.read, values, 0)
    device.sixteenths = 130 * 16
    assert "beyond its range" in text_of(read, sensor)
    board.wires[4] = {OTHER: Thermometer(0)}
    text_of(read, sensor)
    board.wires[4] = {}
    assert "nobody answers" in text_of(sensor.read, values, 0)
    assert values[0] == 7


# ---- DHT22


def dht22(*columns, decimals=None):
    columns = list(columns) or ["temperature", "humidity"]
    settings = {"driver": "dht22", "columns": columns, "pin": 5, "decimals": decimals or [1] * len(columns)}
    settings["quantities"] = [name.rpartition("_")[2] for name in columns]
    return open_sensor(settings)


def said(*four):
    return bytes(four) + bytes((sum(four) & 255,))


def test_a_dht22_says_tenths():
    fresh()
    # Its data sheet's two examples: 65.2 % and 35.1 °C; 10.1 degrees of frost.
    board.wires[5] = said(0x02, 0x8C, 0x01, 0x5F)
    assert read(dht22(), 2, first=3) == [351, 652]
    assert read(dht22("attic_humidity")) == [652]
    assert read(dht22(decimals=[2, 0]), 2) == [3510, 65]
    board.wires[5] = said(0x02, 0x8C, 0x80, 0x65)
    assert read(dht22(), 2) == [-101, 652]


def test_no_wrong_word_of_a_dht22_is_a_reading():
    fresh()
    sensor = dht22()
    assert text_of(read, sensor) == "it does not answer"
    good = said(0x02, 0x8C, 0x01, 0x5F)
    for place in range(5):
        broken = bytearray(good)
        broken[place] ^= 4
        board.wires[5] = broken
        assert text_of(read, sensor) == "checksum error"
    for four in ((0, 0, 0, 0), (0xFF, 0xFF, 0xFF, 0xFF), (0x04, 0x00, 0x01, 0x00), (0x02, 0x00, 0x03, 0x84)):
        board.wires[5] = said(*four)
        text_of(read, sensor)
    board.wires[5] = good
    assert read(sensor, 2) == [351, 652]


# ---- BME280


class Bme280:
    """The registers of one chip, which has measured when it was told to."""

    def __init__(self, chip=0x60, known=KNOWN, humid=HUMID):
        self.chip = chip
        self.humid = humid
        self.low = b"".join([(number & 0xFFFF).to_bytes(2, "little") for number in known])
        self.low += bytes((0, humid[0]))
        self.busy = False
        self.power_on()

    def power_on(self):
        self.oversampled = False
        self.data = bytes((0x80, 0, 0, 0x80, 0, 0, 0x80, 0))

    def read(self, register, size):
        h2, h3, h4, h5, h6 = self.humid[1:]
        high = (h2 & 0xFFFF).to_bytes(2, "little")
        high += bytes((h3, h4 >> 4 & 255, (h4 & 15) | (h5 & 15) << 4, h5 >> 4 & 255, h6 & 255))
        known = {(0xD0, 1): bytes((self.chip,)), (0x88, 26): self.low, (0xE1, 7): high}
        known[(0xF3, 1)] = bytes((8 if self.busy else 0,))
        known[(0xF7, 8)] = self.data
        return known[(register, size)]

    def write(self, register, payload):
        if register == 0xF2:
            self.oversampled = payload == b"\x01"
        else:
            assert (register, payload) == (0xF4, b"\x25")
            humid = self.raw_humidity if self.oversampled and self.chip == 0x60 else 0x8000
            self.data = b"".join([(number << 4).to_bytes(3, "big") for number in self.raw])
            self.data += humid.to_bytes(2, "big")

    raw = (RAW_PRESSURE, RAW_TEMPERATURE)
    raw_humidity = 30000


def bme280(*columns, decimals=None, address=0x76):
    columns = list(columns) or ["temperature", "humidity", "pressure"]
    settings = {"driver": "bme280", "columns": columns, "decimals": decimals or [2] * len(columns)}
    settings.update({"scl": 22, "sda": 21, "address": address})
    settings["quantities"] = [name.rpartition("_")[2] for name in columns]
    return open_sensor(settings)


def humidity_in_floats(raw, fine):
    """The data sheet's other formula, of section 8.1, which is in double precision."""
    h1, h2, h3, h4, h5, h6 = HUMID
    level = fine - 76800.0
    level = (raw - (h4 * 64.0 + h5 / 16384.0 * level)) * (
        h2 / 65536.0 * (1.0 + h6 / 67108864.0 * level * (1.0 + h3 / 67108864.0 * level))
    )
    level = level * (1.0 - h1 * level / 524288.0)
    return min(max(level, 0.0), 100.0)


def test_boschs_example_comes_out():
    fresh()
    board.wires[(22, 21)] = {0x76: Bme280()}
    # Bosch has 100653.27 Pa with a fine temperature that is not cut to a whole number.
    temperature, pressure = read(bme280("temperature", "pressure"), 2, first=1)
    assert temperature == 2508 and 10065327 - 2 <= pressure <= 10065327
    assert read(bme280("pressure", decimals=[0])) == [100653]
    assert read(bme280("out_temperature", decimals=[1])) == [251]
    assert bme280().start() == 10


def test_humidity_is_that_of_the_other_formula():
    from dcka_device.sensors.bme280 import fine_temperature, relative_humidity

    known = KNOWN + HUMID
    assert fine_temperature(known, RAW_TEMPERATURE) == 128422  # of the example: 25.0825 °C
    for raw_temperature in (400000, 480000, 519888, 560000):
        fine = fine_temperature(known, raw_temperature)
        for raw in range(15000, 50000, 500):
            whole = relative_humidity(known, raw, fine) / 1024
            assert abs(whole - humidity_in_floats(raw, fine)) < 0.02, (raw_temperature, raw, whole)


def test_pressure_falls_as_its_raw_value_rises():
    from dcka_device.sensors.bme280 import pressure_pa

    last = 1 << 40
    for raw in range(200000, 700000, 10000):
        level = pressure_pa(KNOWN + HUMID, raw, 128422)
        assert 0 < level < last
        last = level


def test_two_chips_share_a_bus():
    fresh()
    warm = Bme280()
    warm.raw = (RAW_PRESSURE, RAW_TEMPERATURE + 20000)
    board.wires[(22, 21)] = {0x76: Bme280(), 0x77: warm}
    assert read(bme280("temperature")) == [2508]
    [level] = read(bme280("temperature", address=0x77))
    assert 3000 < level < 3300


def test_no_wrong_word_of_a_bme280_is_a_reading():
    fresh()
    sensor = bme280()
    assert "0x76" in text_of(sensor.start)
    board.wires[(22, 21)] = {0x76: Bme280(chip=0x55)}
    assert "no BME280" in text_of(sensor.start)
    board.wires[(22, 21)] = {0x76: Bme280(known=[0] * 12)}
    assert "zeros" in text_of(sensor.start)
    chip = Bme280()
    board.wires[(22, 21)] = {0x76: chip}
    good = read(sensor, 3)
    values = array("i", [7, 7, 7])
    chip.busy = True
    assert "still measures" in text_of(sensor.read, values, 0)
    chip.busy = False
    chip.power_on()
    assert "lost its power" in text_of(sensor.read, values, 0)
    assert read(sensor, 3) == good
    chip.raw = (RAW_PRESSURE, 900000)
    assert "beyond its range" in text_of(read, sensor)
    chip.raw = (1, RAW_TEMPERATURE)
    assert "beyond its range" in text_of(read, bme280("pressure"))
    chip.raw = Bme280.raw
    board.wires[(22, 21)] = {}
    assert "nobody answers" in text_of(sensor.read, values, 0)
    # Another chip in its place has another compensation, which is read anew.
    board.wires[(22, 21)] = {0x76: Bme280(known=(27000,) + KNOWN[1:])}
    assert read(sensor, 3)[0] > good[0]


def test_a_bmp280_has_no_humidity():
    fresh()
    board.wires[(22, 21)] = {0x76: Bme280(chip=0x58)}
    assert read(bme280("temperature", "pressure"), 2) == [2508, 10065325]
    assert "BMP280" in text_of(read, bme280("humidity"))


# ---- a file


def test_a_replay_has_the_row_of_the_time():
    import time

    with Folder() as folder:
        rows = [[10, -1], [20, -2], [30, 1 << 30]]
        folder.write("replay.bin", b"".join([bytes(array("i", row)) for row in rows]))
        settings = {"driver": "replay", "columns": ["a", "b"], "file": "replay.bin", "every_s": 100000}
        sensor = open_sensor(settings)
        assert sensor.name == "a" and sensor.count == 2
        at = int(time.time()) // 100000 % 3
        assert read(sensor, 2, first=1) == rows[at]
        folder.write("replay.bin", b"")
        text_of(read, sensor, 2)
