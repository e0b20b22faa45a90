"""What goes wrong, one fault after the other, each in a real run: `dcka bench faults`, and the soak.

`fault`: what a fault is, and how it is played. `broker_faults`, `connection_faults`, `door_faults`, `message_faults`,
`clock_faults`: the faults. `fuzz`: random and mutated messages. `record`: all of it, as one record. `soak`: run upon
run.
"""

from dcka.bench.faults.record import FAULTS, faults, text

__all__ = ["FAULTS", "faults", "text"]
