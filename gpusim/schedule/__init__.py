"""
The order of the ops of a CTA, and the address of every lane for every op: the one schedule that all executors run.

Its face is ``Program`` and its ops, ``KernelSchedule``, ``Lanes``, exact counts, and ``find_hazards``. It never knows
the duration of an op or the data.
"""
