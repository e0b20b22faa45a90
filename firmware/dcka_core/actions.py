"""What the core asks of its shell: a list of tuples, to be done in their order, so that what is saved is on flash
before what follows it is sent. The first item says what; plain tuples, because a named one costs 400 bytes of heap.
"""

# (PUBLISH, topic, payload, retain): send bytes or text.
PUBLISH = 1
# (SUBSCRIBE, topic), (UNSUBSCRIBE, topic): listen, or no longer.
SUBSCRIBE = 2
UNSUBSCRIBE = 3
# (SAVE, name, payload): write the file aside, then rename it.
SAVE = 4
# (APPEND, name, payload, offset, total): add to the file; begin it anew where offset is 0, if `total` bytes have room.
APPEND = 5
# (ADOPT, aside, name): put the file aside in the place of the other, load it, and tell the node (`Node.data_loaded`).
ADOPT = 6
# (DROP,): remove data and readings.
DROP = 7
# (MAKE, grid, readings): quantise the readings (read anew where they are None) on this `SurveyGrid` into the data file
# (`survey_points.data_file`), adopt it, and tell the node (`Node.points_made`).
MAKE = 8
# (SLEEP, ms): take leave of the broker, so that it publishes no will, switch the radio off, and connect again when so
# many ms have passed. Runs with slots alone; it is the last of an event's actions.
SLEEP = 9
# (UPDATE, payload, intake): a message of an update (`update.Update`, which the intake keeps), for a node with versions.
UPDATE = 10
