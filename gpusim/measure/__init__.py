"""
A run on the GPU at hand, or a profile of one, beside its simulation.

The interface is ``measure`` for one scenario, ``measured`` for the best kernels of a tuning, and ``compare_rows`` for a
profile of the user's. The room never corrects a simulated figure by a measured one.
"""
