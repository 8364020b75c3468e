"""
The machine in integers, cycle by cycle: one text, interpreted or compiled.

Its face is ``engine``, which says which of both is at hand, and ``chip``. It never knows a kernel: columns come in, and
logs go out.
"""
