"""Clustering what nodes sense, again and again: windows, what is remembered of the last, and how far centres move."""
