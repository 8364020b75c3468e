"""
How far simulated time is from measured time, over all records of one half, and the tables and pictures that say so.

Its face is ``validate``, which ``gpusim validate`` calls. It reads records and simulates; it never measures, and it
shows no row of a held-out record unless it is asked to.
"""
