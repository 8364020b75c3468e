"""
A run on the GPU at hand, or a profile of one, beside its simulation.

Its face is ``measure`` for one scenario, ``measured`` for the best kernels of a tuning, and ``compare_rows`` for a
profile of the user's. It never corrects a simulated figure by a measured one.
"""
