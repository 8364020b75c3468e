"""
The GPU at hand: CuPy, loaded kernels, launches, and Nsight Compute as a subprocess.

The interface is ``device`` (which GPU this is), ``module.load_kernels``, ``run`` (numerics, traces, timelines, loop
times) and ``counters.profile_scenarios``. The room never simulates, and imports CuPy only to use a GPU.
"""
