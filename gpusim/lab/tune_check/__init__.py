"""
Checks that ``gpusim tune`` picks the best kernel: problems with stated sets of configurations, all measured on a GPU.

The interface is ``python -m gpusim.lab.tune_check``: "measure" runs every configuration of every problem, "judge"
compares the simulator's ranking with the measurements. A simulation never decides which kernels are measured.
"""
