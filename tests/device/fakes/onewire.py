"""What dcka and the fake of `ds18x20` use of MicroPython's `onewire`: a bus; its devices are `machine.board.wires`."""

import machine


class OneWireError(Exception):
    pass


class OneWire:
    def __init__(self, pin):
        self.pin = pin

    @property
    def devices(self):
        """ROM -> a thermometer, at this pin."""
        return machine.board.wires.get(self.pin._id, {})

    def scan(self):
        return list(self.devices)

    def reset(self, required=False):
        if required and not self.devices:
            raise OneWireError
        return bool(self.devices)

    def crc8(self, content):
        """Of Maxim's application note 27: x^8 + x^5 + x^4 + 1, the lowest bit first; 0 over what ends in its CRC."""
        crc = 0
        for byte in content:
            crc ^= byte
            for _ in range(8):
                crc = crc >> 1 ^ 0x8C if crc & 1 else crc >> 1
        return crc


class Thermometer:
    """A DS18B20 as it is after power-on. sixteenths: what it would measure. broken: changes what is read of it."""

    def __init__(self, sixteenths):
        self.sixteenths = sixteenths
        self.power_on()
        self.broken = None
        self.converts = True

    def power_on(self):
        self.level, self.sixth = 85 * 16, 0x0C

    def convert(self):
        if self.converts:
            self.level, self.sixth = self.sixteenths, 0x10 - (self.sixteenths & 15)

    def scratch(self, bus):
        level = self.level & 0xFFFF
        content = bytearray((level & 255, level >> 8, 0x4B, 0x46, 0x7F, 0xFF, self.sixth, 0x10))
        content.append(bus.crc8(content))
        return self.broken(content) if self.broken else content
