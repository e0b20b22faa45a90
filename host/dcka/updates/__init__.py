"""New versions and settings for the boards of a network, over MQTT: signed, one node first, and back where it fails."""
