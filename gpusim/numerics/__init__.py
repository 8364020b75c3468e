"""
What the numbers are: how an element type is stored and rounded, what an output op computes, what is correct.

Its face is ``Tensors``, ``OutputOp``, ``reference`` with ``agreement``, and ``round_to``. It never knows tiles or
threads: a problem's tensors in, the float64 answer and its tolerance out.
"""
