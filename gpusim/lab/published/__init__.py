"""
Published microbenchmarks, run on the simulated machine: cycles of a chain of instructions there and on silicon.

Its face is ``published_entries`` and ``own_entries``; ``python -m gpusim.lab.tables.published_tables`` writes their
tables. It never knows a scenario, and never changes a figure.
"""
