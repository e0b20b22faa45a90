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
# (APPEND, name, payload, offset): add to the file; begin it anew where offset is 0.
APPEND = 5
# (ADOPT, name): put the file in the place of the data file, load it, and tell the node (`Node.data_loaded`).
ADOPT = 6
