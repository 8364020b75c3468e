"""
The loop that executes machine code, in units: registers, arithmetic by kind of number, memory, convergence, CTAs.

Its interface is ``Cta`` and the parts that one is built of. Cython compiles its text where that is possible; elsewhere
it is interpreted, with equal results. It never knows an opcode by name: rows of integers say what to do.
"""
