"""
Which op comes when in a CTA, and which address each lane has for it: the one schedule that all executors run.

Its face is ``Program`` and its ops, ``KernelSchedule``, ``Lanes``, exact counts, and ``find_hazards``. It never knows
how long an op takes, nor what the data is.
"""
