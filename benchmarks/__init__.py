"""Measurements against the rivals. Every number that the project claims has a file in results/."""
