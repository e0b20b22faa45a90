"""What nodes sense: their settings, the files that stand for sensors on this computer, and what lies on their flash."""
