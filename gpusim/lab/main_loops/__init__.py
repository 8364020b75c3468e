"""
Main loops of gpusim's kernels on a GPU: with instructions left out, several CTAs on one SM, and when each CTA ends.

The interface is one command for each measurement, ``one_sm``, ``parts`` and ``lives``, which write CSV files. The room
never simulates; another room's table compares the measurements with a simulation.
"""
