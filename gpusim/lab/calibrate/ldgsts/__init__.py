"""
What ncu counts of copies: an experiment of its own, on known patterns of addresses.

It answers how many wavefronts, conflicts, requests and sectors each counter has for a copy. Its face is
``experiment.run``, which writes ldgsts.csv, and ``patterns``. It never runs a tile kernel.
"""
