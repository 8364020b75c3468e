"""
The speed of gpusim itself: seconds of CPU, warp instructions a second, memory, and growth with the problem.

Its face is ``python -m gpusim.lab.bench``, as ``make bench`` runs it: each figure is measured in a process of its own.
It never simulates in the measuring process, which stays small, and knows scenarios only by their names.
"""
