"""
What bounds a kernel, where the machine's time goes, what it would gain, and which lanes collide.

Its face is the module beside this room that bears the question, explain.py. The parts are: what the machine would do if
it were different (``changes``), shares of its time (``losses``), CTAs on an SM (``residency``), single changes
(``what_if``), colliding lanes (``conflicts``), ncu's counters, and the sentences. It never names a family, and it types
no factor: each prediction is a simulation.
"""
