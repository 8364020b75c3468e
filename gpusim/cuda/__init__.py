"""
The inputs of compiling a kernel of ``kernels_cuda``, and the records of its builds; needs no GPU.

The interface is ``Specialisation`` (options, grid, shared memory), ``compile_kernel``, and the trace and timeline
formats with ``expected_records`` beside them. The room never launches a kernel, imports no CuPy, and knows no family.
"""
