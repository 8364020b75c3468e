"""
Microbenchmarks of mechanisms that kernels of a user's own need, and the formulas that derive figures from them.

They measure opcodes of all pipes, atomics, loads by address space, fences, and accesses that are scattered over lines
and sectors. The interface is ``opcodes``, ``atomics``, ``repeats``, ``scattered``, ``partial``, ``spaces`` and
``fences``, whose functions return the rows of CSV files, and ``derive_own``. The room never runs a tile kernel.
"""
