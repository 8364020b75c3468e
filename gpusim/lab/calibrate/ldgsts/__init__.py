"""
An experiment on ncu's counters of copies, with known patterns of addresses.

It answers how many wavefronts, conflicts, requests and sectors each counter has for a copy. The interface is
``experiment.run``, which writes ldgsts.csv, and ``patterns``. It never runs a tile kernel.
"""
