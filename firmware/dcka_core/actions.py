"""What the core asks of its shell: a list of these, to be done in their order (so that what is saved is on flash before
what follows it is sent)."""

from collections import namedtuple

# Send `payload` (bytes or text) on `topic`.
Publish = namedtuple("Publish", ("topic", "payload", "retain"))
# Listen to `topic`, or no longer.
Subscribe = namedtuple("Subscribe", ("topic",))
Unsubscribe = namedtuple("Unsubscribe", ("topic",))
# Write `payload` as the file `name`: aside, then renamed.
Save = namedtuple("Save", ("name", "payload"))
# Append `payload` to the file `name`; begin it anew where `offset` is 0.
Append = namedtuple("Append", ("name", "payload", "offset"))
# Put the file `name` in the place of the data file, load it, and tell the node (`Node.data_loaded`).
Adopt = namedtuple("Adopt", ("name",))
