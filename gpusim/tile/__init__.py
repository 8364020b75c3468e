"""
The element of an operand that each lane of each warp accesses: thread maps, iterators, fragments, epilogue.

The interface is ``Operand``, ``fragment_loads``, ``EpilogueTile``, the CTA grid with its swizzles, and
``grid_requests``; of Hopper, ``WgmmaInstruction`` and ``BlockDescriptors``. The room never knows the time of an access
or the executor.
"""
