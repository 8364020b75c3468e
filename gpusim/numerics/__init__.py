"""
The values: storage and rounding of element types, arithmetic of output ops, and correctness of a result.

The interface is ``Tensors``, ``OutputOp``, ``reference`` with ``agreement``, and ``round_to``. The room never knows
tiles or threads: a problem's tensors in, the float64 answer and its tolerance out.
"""
