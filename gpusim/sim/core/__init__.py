"""
The machine in integers, cycle by cycle: a unit a module, interpreted as it stands or compiled with all others as one.

Its face is ``engine``, which says which of both is at hand, and ``chip``, which puts the units together. What is
compiled says ``source``. It never knows a kernel: columns come in, and logs go out.
"""
