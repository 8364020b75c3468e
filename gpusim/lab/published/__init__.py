"""
Published microbenchmarks, run on the simulated machine: what a chain of instructions takes there and on silicon.

Its face is ``published_entries`` and ``own_entries``, which
``python -m gpusim.lab.tables.published_tables`` writes down. It never knows a scenario, and never changes a figure.
"""
