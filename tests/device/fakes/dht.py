"""What dcka uses of MicroPython's `dht`: `machine.board.wires` has at the pin the five bytes that the sensor says."""

import machine


class DHT22:
    def __init__(self, pin):
        self.pin = pin
        self.buf = bytearray(5)

    def measure(self):
        said = machine.board.wires.get(self.pin._id)
        if said is None:
            raise OSError(110)
        self.buf[:] = said
        if sum(said[:4]) & 0xFF != said[4]:
            raise Exception("checksum error")
