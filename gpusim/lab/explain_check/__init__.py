"""
Checks ``gpusim explain``: its bound against measurements, and its what-if gains against pairs of records.

The interface is ``python -m gpusim.lab.explain_check``. Tables define the measured bound; they were committed before
any comparison, except for the L2's use (``truth``). The room reads development records only; the room never measures,
and never opens a held-out record.
"""
