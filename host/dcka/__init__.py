"""dcka: distributed K-means for sensor networks."""

__version__ = "0.1.0"
