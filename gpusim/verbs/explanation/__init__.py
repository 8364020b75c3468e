"""
The parts of an explanation: what bounds a kernel, where the time goes, what a change would gain, which lanes collide.

Its face is the module explain.py beside this room, which joins the parts: machines and code without an obstacle
(``changes``), shares of the time (``losses``), CTAs on an SM (``residency``), single changes (``what_if``), colliding
lanes (``conflicts``), ncu's counters, and the sentences. It never names a family, and it assumes no factor: each
prediction is a simulation.
"""
