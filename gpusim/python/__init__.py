"""
The functions of ``import gpusim`` for programs and notebooks.

The interface is ``simulate``, ``verify``, ``compare``, ``explain`` and ``read_run``, with the command line's defaults,
and ``Run``: a result with tables and pictures. The room never computes a figure of its own, and no room imports it.
"""
