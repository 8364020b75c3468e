"""
Microbenchmarks of mechanisms that kernels of a user's own need, and the formulas that derive figures from them.

They measure opcodes of all pipes, atomics, loads by address space, fences, accesses that are scattered over lines and
sectors, and the CTAs that an SM holds by their barriers. The interface is ``opcodes``, ``atomics``, ``repeats``,
``scattered``, ``partial``, ``spaces``, ``fences`` and ``residents``, whose functions return the rows of CSV files, and
``derive_own`` and ``derive_machine``. The room never runs a tile kernel.
"""
