"""
How far simulated time is from measured time, over all records of one half, with tables and pictures.

Its face is ``validate``, which ``gpusim validate`` calls. It reads records and simulates; it never measures, and it
shows rows of held-out records only on request.
"""
