"""A network whose time is not this computer's: a week of it passes in a minute, in one process, by its seed alone.

`timeline` is the clock and the queue of what is to happen, `broker` an MQTT broker in memory, `air` what the radio does
to messages, `oscillator` what a node takes for time. A `board` has flash, RTC memory, power and a `meter`; `awake` is
its program from a reset to the next sleep, as the core's rota has it, and `online` feeds the core while the radio is
on. `channel` is the host's way in. Nothing here knows what is right: whoever judges sits outside.
"""
