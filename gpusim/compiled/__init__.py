"""
Core texts: of which units a compiled module is built, and whether it is executed compiled or interpreted.

Its interface is ``CoreText``, which a core declares of its units, and ``engine_of``, which returns the execution.
It never knows what a core computes.
"""
