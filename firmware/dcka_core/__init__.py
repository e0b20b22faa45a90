"""What a dcka node decides, without a clock, a socket or hardware: runs unchanged on MicroPython and CPython.

Empty of code, since a board does without this file.
"""
