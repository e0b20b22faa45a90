"""The chips of the ESP32 family that MicroPython runs on, and what has to be known of each to flash it.

Sources: esptool's chip classes (image ids, offset of the bootloader), the board definitions and the emitters of
MicroPython's esp32 port (names of boards, architecture of native code), Espressif's strapping pins (the button).
"""

from dataclasses import dataclass

from dcka.errors import UsageError

XTENSA = "xtensawin"
RISC_V = "rv32imc"


@dataclass(frozen=True)
class Chip:
    """One kind of chip.

    `name` is esptool's argument ("esp32s3"), `title` what esptool and people call it ("ESP32-S3"). `image_id` stands in
    bytes 12 and 13 of every image. `bootloader_offset` is the address in flash that a whole image starts at. `march` is
    mpy-cross's name of the native code. `board` is MicroPython's name of the generic board. `button_pin` is the GPIO of
    the BOOT button on Espressif's own boards. `wifi`: whether it has a radio that joins a network.
    """

    name: str
    title: str
    image_id: int
    bootloader_offset: int
    march: str
    board: str
    button_pin: int
    wifi: bool = True


def _chips(*chips: Chip) -> dict[str, Chip]:
    return {chip.name: chip for chip in chips}


CHIPS: dict[str, Chip] = _chips(
    Chip("esp32", "ESP32", 0, 0x1000, XTENSA, "ESP32_GENERIC", 0),
    Chip("esp32s2", "ESP32-S2", 2, 0x1000, XTENSA, "ESP32_GENERIC_S2", 0),
    Chip("esp32s3", "ESP32-S3", 9, 0, XTENSA, "ESP32_GENERIC_S3", 0),
    Chip("esp32c2", "ESP32-C2", 12, 0, RISC_V, "ESP32_GENERIC_C2", 9),
    Chip("esp32c3", "ESP32-C3", 5, 0, RISC_V, "ESP32_GENERIC_C3", 9),
    Chip("esp32c5", "ESP32-C5", 23, 0x2000, RISC_V, "ESP32_GENERIC_C5", 28),
    Chip("esp32c6", "ESP32-C6", 13, 0, RISC_V, "ESP32_GENERIC_C6", 9),
    Chip("esp32h2", "ESP32-H2", 16, 0, RISC_V, "ESP32_GENERIC_H2", 9, wifi=False),
    Chip("esp32p4", "ESP32-P4", 18, 0x2000, RISC_V, "ESP32_GENERIC_P4", 35, wifi=False),
)
"""Every chip, by name. The H2 and the P4 have no Wi-Fi of their own: they can be flashed, and cannot join."""


def chip_named(name: str) -> Chip:
    """The chip of a name or a title, in either case. Raises UsageError that lists the names."""
    plain = name.lower().replace("-", "")
    if plain not in CHIPS:
        raise UsageError(
            f'there is no chip "{name}" that MicroPython runs on; the chips are {", ".join(CHIPS)}'
        )
    return CHIPS[plain]


def chip_of_image(image_id: int) -> Chip | None:
    """The chip whose images carry this id; None for one that is not of the table."""
    return next((chip for chip in CHIPS.values() if chip.image_id == image_id), None)
