"""A week of a living network in a minute: what it is made of, the host that calls its clusterings, and what came of it.

`feed` has the readings and the radio, `failures` what goes wrong, `witness` remembers what the nodes were given,
`host` calls the clusterings on their pace, `judge` compares each with the reference, `report` says what it all came to.
The nodes are those of `dcka.emulation.virtual`.
"""

from dcka.week.course import Course, run_week
from dcka.week.settings import WeekError, WeekSettings

__all__ = ["Course", "WeekError", "WeekSettings", "run_week"]
