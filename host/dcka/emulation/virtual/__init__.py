"""A network whose time is not this computer's: weeks of it pass in a minute, in one process, the same for the same seed.

`timeline` is the clock and the queue of what is to happen, `broker` an MQTT broker in memory, `air` what the radio does
to messages, `oscillator` what a node takes for time. `node` feeds the real core of a node, as a board's shell does,
through sleep, power cuts and outages, with `files` for its flash and `meter` for its charge. `channel` is the host's way
in. Nothing here knows what is right: whoever judges sits outside.
"""
