"""
Microbenchmarks that measure the figures of a machine file, and the formulas that derive the figures from them.

The interface is ``benchmarks.calibrate``, which writes CSV files, ``derive``, which derives figures from them by stated
formulas, and ``update_machine``. The room never runs a tile kernel.
"""
