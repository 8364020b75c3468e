"""
Measurements of many scenarios on a GPU, kept as files: records, repeated cold launches, samples of stalled warps.

Its face is one command for each, ``record_all``, ``repeats`` and ``samples``; a scenario that fails stops no other. It
never simulates, and never compares its measurements.
"""
