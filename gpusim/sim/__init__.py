"""
Time: instruction streams on SMs, from CTA scheduler and SMSPs to caches and DRAM, in integer cycles.

The interface is ``TimedKernel``, the interface of a kernel, ``Launch`` and ``simulate_launch``; a ``Chip`` can also be
run by hand. The room never knows a scenario or a family: a kernel is its CTAs, their code, and the memory that they
access.
"""
