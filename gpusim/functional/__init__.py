"""
The meaning of each op: a program of ops executed on real data, CTAs in batches, with every hazard in the data reported.

The interface is ``WarpTiles`` for the mainloop, ``Epilogue`` for the output, ``SharedMemory`` and ``HazardLog``. The
room never counts a cycle and never meets the simulator in time or the GPU: three executors agree because none copies
another.
"""
