"""A sensor on a pin that its chip hasn't is refused before a board is touched."""

import pytest

from dcka.boards.chips import CHIPS
from dcka.boards.pins import require_pins
from dcka.config import parse
from dcka.errors import UsageError


def sensors(device: str):
    return parse(f"[sensors]\ndevices = [{device}]\n").sensors


def wire(pin: int):
    return sensors(f'{{ driver = "ds18b20", pin = {pin}, columns = {{ soil = 2 }} }}')


def voltage(pin: int):
    return sensors(f'{{ driver = "adc", pin = {pin}, columns = {{ soil = 2 }} }}')


@pytest.mark.parametrize(
    ("section", "chip", "why"),
    [
        (wire(45), "esp32", "there is no pin 45"),
        (wire(30), "esp32", "there is no pin 30"),
        (wire(7), "esp32", "pin 7 is the flash's"),
        (wire(34), "esp32", "pin 34 can only read"),
        (wire(25), "esp32c3", "there is no pin 25"),
        (voltage(4), "esp32", "32 to 39 do"),
        (voltage(34), "esp32s3", "there is no pin|measures no voltage"),
        (voltage(12), "esp32c3", "pin 12 is the flash's"),
    ],
)
def test_a_pin_that_does_not_do_is_named(section, chip, why) -> None:
    with pytest.raises(UsageError, match=why) as caught:
        require_pins(section, CHIPS[chip])
    assert "wire it to another" in str(caught.value) and CHIPS[chip].title in str(caught.value)


def test_what_does_is_silent() -> None:
    for section, chip in (
        (wire(4), "esp32"),
        (voltage(34), "esp32"),
        (voltage(2), "esp32c3"),
        (wire(10), "esp32c6"),
    ):
        require_pins(section, CHIPS[chip])
    require_pins(wire(50), None)
    require_pins(wire(50), CHIPS["esp32p4"])
