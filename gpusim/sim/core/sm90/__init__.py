"""
Units of the core that sm_90 has: mbarriers in shared memory, the TMA unit, and wgmma's queues to the tensor cores.

Their face is ``Sm90``, to which an SMSP issues. They never know a kernel: traces of integers say what is awaited and
loaded. The chip builds them above the LSUs.
"""
