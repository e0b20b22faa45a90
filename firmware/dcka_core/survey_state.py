"""What the centres of a survey's commit stand for (protocol, section 5, "Survey")."""

# Readings are sought as x + 2^31, unsigned.
ZERO = 1 << 31
STEPS_ROW = 4
SIGMA_ROW = 5


def numbers(centres: "list[int]", n: int, row: int) -> "list[int]":
    """The n numbers of 32 bits that two rows of a state hold, the upper halves first."""
    return [centres[place] << 16 | centres[place + n] for place in range(row * n, row * n + n)]


def ends(centres: "list[int]", n: int) -> "list[int]":
    """The lower ends that a state knows, as readings: n of low, n of high."""
    return [number - ZERO for number in numbers(centres, n, 0) + numbers(centres, n, 2)]
