"""
Cycles of own kernels beside those that an H200 took.

``compared`` simulates launches in time from the machine code that was measured, ``page`` writes
``reports/own_cycles.md``; ``python -m gpusim.lab.own.cycles`` does both. It never runs a kernel on a GPU.
"""
