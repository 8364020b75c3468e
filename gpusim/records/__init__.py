"""
Measurements of a scenario on one GPU, and their comparison with a simulated result.

The interface is ``Record`` with ``load_record`` and ``find_record``, and ``check_rows``; ``note_look`` logs every look
at a held-out record. The room never measures anything itself, and needs no GPU.
"""
