"""
The report of runs as one HTML file that works offline: its data as JSON, its style and its scripts.

The interface is ``page.page``. The room never reads a run directory, and knows no kernel.
"""
