"""
kernels_cuda/hopper: its macros, the parameters of a launch, its tensor maps, and the rows that its trace build records.

The interface is ``specialise`` and ``launch``. The room never decides what a kernel does: it hands over what the family
says.
"""
