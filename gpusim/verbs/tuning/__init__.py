"""
The parts of a tuning: candidates, their lower bounds, the search among too many candidates, and reasons.

The interface is ``candidates_of``, ``searched`` and ``why_faster``, which the verb tune joins. The family says which
kernels can be compiled; this room never measures one.
"""
