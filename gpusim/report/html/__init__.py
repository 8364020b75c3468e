"""
The report of runs as one HTML file that works offline: its data as JSON, its style and its scripts.

Its face is ``page.page``. It never reads a run directory, and it never asks which kernel a run is of.
"""
