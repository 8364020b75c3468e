"""
Whether ``gpusim explain`` is right: its bound beside what was measured, and its what-if gains beside pairs of records.

Its face is ``python -m gpusim.lab.explain_check``. What is true is settled by tables that were committed before
anything was compared with them, but for the L2's use (``truth``). It reads development records only; it never measures,
and never opens a held-out one.
"""
