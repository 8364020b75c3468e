"""
What ``import gpusim`` adds, for programs and notebooks, to what the command line does.

Its face is ``simulate``, ``verify``, ``compare``, ``explain`` and ``read_run``, with the command line's defaults, and
``Run``: a result to look at. It never computes a figure of its own, and no room imports it.
"""
