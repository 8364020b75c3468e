"""
Answers commands about kernels of the user's own.

A module has the name of its command. A command asks here once it knows that a file is such a kernel, or a scenario of
one; ``check-perf`` takes nothing else, and is here alone. The room never knows a family.
"""
