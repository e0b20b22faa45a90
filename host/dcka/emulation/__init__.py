"""Nodes on the desktop: the firmware in real MicroPython processes, or its core under CPython.

`build` makes the files that a board gets (from what `prepare` leaves of the sources), `micropython` runs them.
`cpython` has all nodes in one process: `cpython_process` is its program, in which `cpython_nodes` are fed by `loop`,
`gate` and `link`. `supervisor` watches over either from the broker.
"""
