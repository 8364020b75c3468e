"""
The kernels of kernels_cuda/hopper on a GPU: numbers, the schedule that they execute, and times.

The interface is ``python -m gpusim.lab.hopper_device``. The room never decides what a kernel is: that is the family's.
"""
