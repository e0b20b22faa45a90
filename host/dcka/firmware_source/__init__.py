"""What the firmware's sources lose before they are compiled for a node: what only readers need.

MicroPython keeps every distinct name for ever, for about 12 bytes and its letters, and every module, constant and
parameter costs an entry in a table. A node's program is whole: nobody imports it but what boots it. So the build joins
modules that are always loaded together, works out what is constant in it, leaves out what is never called, and gives
all that is left few short names. Sources stay written for readers.
"""

from dcka.firmware_source.reading import module_name, read
from dcka.firmware_source.whole import Whole, make_small

__all__ = ["Whole", "make_small", "module_name", "read"]
