"""The node's shell on MicroPython: its clock, file system, radio and MQTT link around the core."""
