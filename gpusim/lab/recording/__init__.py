"""
Measurements of many scenarios on a GPU, kept as files: records, repeated cold launches, samples of stalled warps.

The interface is one command for each, ``record_all``, ``repeats`` and ``samples``; a scenario that fails stops no
other. The room never simulates, and never compares its measurements.
"""
