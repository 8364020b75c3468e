"""
Published microbenchmarks, run on the simulated machine: cycles of a chain of instructions there and on silicon.

The interface is ``published_entries`` and ``own_entries``; ``python -m gpusim.lab.tables.published_tables`` writes
their tables. The room never knows a scenario, and never changes a figure.
"""
