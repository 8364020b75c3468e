"""
What a kernel of ``kernels_cuda`` is compiled from and what its builds record, where no GPU is at hand.

Its face is ``Specialisation`` (options, grid, shared memory), ``compile_kernel``, and the trace and timeline formats
with ``expected_records`` beside them. It never launches a kernel, imports no CuPy, and knows no family.
"""
