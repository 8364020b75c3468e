"""
The order of the ops of a CTA, and the address of every lane for every op: the one schedule that all executors run.

The interface is ``Program`` and its ops, ``KernelSchedule``, ``Lanes``, exact counts, and ``find_hazards``. The room
never knows the duration of an op or the data.
"""
