"""
Lowers attention programs to instructions, by stated estimates or from machine code.

The interface is ``stream``, which lowers a whole CTA. The room never knows when an instruction is issued.
"""
