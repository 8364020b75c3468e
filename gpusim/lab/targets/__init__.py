"""
Checks that gpusim can follow the machine code of every kind of kernel on every target.

The interface is ``python -m gpusim.lab.targets``: it compiles, emulates and aligns one kernel for each combination of
target, family, types, layout, tile, stages and iterator. The room never simulates, and needs a CUDA compiler but no
GPU.
"""
