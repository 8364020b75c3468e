"""
The parts of an explanation: a kernel's bound, the division of its time, the gain of changes, and bank conflicts.

The module explain.py beside this room joins the parts: machines and code without an obstacle (``changes``), shares of
the time (``losses``), CTAs on an SM (``residency``), single changes (``what_if``), colliding lanes (``conflicts``),
ncu's counters, and the sentences. The room never names a family. It assumes no factors: predictions are simulations.
"""
