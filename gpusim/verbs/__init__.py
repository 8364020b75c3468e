"""
Operations on a whole scenario: load it, simulate it, verify it, compare it, explain it, draw its run.

The interface is one function for each operation, from a scenario to its answer. The room never names a family: a family
of the registry answers all that differs between kernels.
"""
