"""
An experiment on accesses to shared memory in which several lanes have one address.

It answers how many wavefronts the data stage takes for them, by ncu's counters and by the SM's clock. The interface is
``experiment.run``, which writes broadcast.csv, and ``patterns``. It never runs a tile kernel.
"""
