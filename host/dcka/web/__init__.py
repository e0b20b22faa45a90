"""The monitor's page over HTTP: a feed of what the network does, the page, and runs started from there."""
