"""
Checks that gpusim can follow the machine code of every kind of kernel on every target.

Its face is ``python -m gpusim.lab.targets``: it compiles, emulates and aligns one kernel for each combination of
target, family, types, layout, tile, stages and iterator. It never simulates, and needs a CUDA compiler but no GPU.
"""
