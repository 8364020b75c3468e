"""
Which element of an operand each lane of each warp has: thread maps, iterators, fragments, epilogue.

Its face is ``Operand``, ``fragment_loads``, ``EpilogueTile``, the CTA grid with its swizzles, and ``grid_requests``. It
never knows when an access happens, nor which executor asks.
"""
