"""
Time: instruction streams on SMs, from CTA scheduler and SMSPs to caches and DRAM, in integer cycles.

Its face is ``TimedKernel``, which says what a kernel must answer, ``Launch`` and ``simulate_launch``; a ``Chip`` can be
run by hand, too. It never knows a scenario or a family: a kernel is its CTAs, their code, and the memory that they
access.
"""
