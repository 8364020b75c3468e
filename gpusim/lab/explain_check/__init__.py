"""
Checks ``gpusim explain``: its bound against measurements, and its what-if gains against pairs of records.

Its face is ``python -m gpusim.lab.explain_check``. Tables define the measured bound; they were committed before any
comparison, except for the L2's use (``truth``). It reads development records only; it never measures, and never opens
a held-out record.
"""
