"""
What every run answers: the result and the timeline, which resource bounds it, and how they are kept on disk.

Its face is ``Result``, ``Timeline``, ``first_bound``, and ``write_run`` with ``read_run``. It never computes a cycle,
and knows a scenario only as the plain data that it keeps.
"""
