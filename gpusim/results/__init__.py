"""
The answer of a run: the result and the timeline, how much of each resource it uses, and how it is kept on disk.

Its face is ``Result``, ``Timeline``, ``resources_of``, and ``write_run`` with ``read_run``. It never computes a cycle,
and knows a scenario only as the plain data that it keeps.
"""
