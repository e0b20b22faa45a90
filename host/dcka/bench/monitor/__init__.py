"""What the monitor can bear: from a message to the painted page, and into the history."""
