"""What a dcka node decides, without a clock, a socket or hardware: runs unchanged on MicroPython and CPython."""

VERSION = "0.1.0"
PROTOCOL = 1
