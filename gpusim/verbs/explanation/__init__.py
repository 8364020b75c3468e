"""
What bounds a kernel, where the machine's time goes, what it would gain, and which lanes collide.

Its face is ``gpusim.verbs.explain``, which puts the parts together: what the machine would do if it were different
(``changes``), shares of its time (``losses``), its units' use (``resources``), and conflicts. It never names a family,
and it types no factor: each prediction is a simulation.
"""
