"""
The speed of gpusim itself: seconds of CPU, warp instructions a second, memory, and growth with the problem.

The interface is ``python -m gpusim.lab.bench``, as ``make bench`` runs it: each figure is measured in a process of its
own. The room never simulates in the measuring process, which stays small, and knows scenarios only by their names.
"""
