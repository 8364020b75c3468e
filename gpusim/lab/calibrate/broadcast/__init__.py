"""
What accesses of shared memory cost of which several lanes want one address: an experiment of its own.

It answers how many wavefronts the data stage takes for them, by ncu's counters and by the SM's clock. Its face is
``experiment.run``, which writes broadcast.csv, and ``patterns``. It never runs a tile kernel.
"""
