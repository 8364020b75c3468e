"""
Time: instruction streams on SMs, from CTA scheduler and SMSPs to caches and DRAM, in integer cycles.

Its face is ``TimedKernel``, the interface of a kernel, ``Launch`` and ``simulate_launch``; a ``Chip`` can also be run
by hand. It never knows a scenario or a family: a kernel is its CTAs, their code, and the memory that they access.
"""
