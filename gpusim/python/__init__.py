"""
The functions of ``import gpusim`` for programs and notebooks.

Its face is ``simulate``, ``verify``, ``compare``, ``explain`` and ``read_run``, with the command line's defaults, and
``Run``: a result with tables and pictures. It never computes a figure of its own, and no room imports it.
"""
