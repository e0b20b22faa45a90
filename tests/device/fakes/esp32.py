"""The ESP32's `esp32`, as far as a board's identity and its sleep go: enough that importing it says "an ESP32"."""

WAKEUP_ALL_LOW = False
WAKEUP_ANY_HIGH = True


def mcu_temperature():
    return 25
