"""Runs before main.py on a board. Nothing here may fail, or the board would be hard to reach."""
