"""Nodes on the desktop: the firmware in real MicroPython processes, or its core under CPython.

`build` makes the files that a board gets, `micropython` runs them.
"""
