"""From a person's CSV to the data file of each node, and on to the node."""
