"""
The answer of a run: the result, the timeline, the use of each resource, and the files on disk.

The interface is ``Result``, ``Timeline``, ``resources_of``, and ``write_run`` with ``read_run``. The room never
computes cycles, and knows a scenario only as plain data.
"""
