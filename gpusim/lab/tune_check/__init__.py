"""
Whether ``gpusim tune`` picks the best kernel: problems and stated sets of configurations, all measured on a GPU.

Its face is ``python -m gpusim.lab.tune_check``: "measure" runs every configuration of every problem, "judge" sets
the simulator's ranking beside what was measured. What is simulated never decides what is measured.
"""
