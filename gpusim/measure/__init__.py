"""
What is measured of scenarios on a GPU, kept as records, and set beside the simulation.

Its face is ``measure`` for one scenario, ``record_all`` for many, ``compare_rows`` for a profile of the user's, and the
tables over all records. It never corrects a simulated figure by a measured one.
"""
