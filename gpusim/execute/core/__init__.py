"""
The loop that executes machine code, in units: registers, arithmetic by kind of number, memory, convergence, CTAs.

The text is compiled by Cython where that is possible and interpreted elsewhere, with equal results.
"""
