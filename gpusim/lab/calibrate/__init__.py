"""
Microbenchmarks: what a machine file's figures are measured with, and how they follow from the measurements.

Its face is ``benchmarks.calibrate``, which writes CSV files, ``derive``, which makes figures of them by stated
formulas, and ``update_machine``. It never runs a tile kernel.
"""
