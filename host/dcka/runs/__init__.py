"""A run of the network: `plan` (pure), `controller` (drives it), `outcome` (what it came to, as one JSON file)."""
