"""
How far simulated time is from measured time, over all records of one half, with tables and pictures.

The interface is ``validate``, which ``gpusim validate`` calls. The room reads records and simulates; it never
measures, and it shows rows of held-out records only on request.
"""
