"""
Stamped kernels: the timeline builds of tile kernels, measured with cold caches and simulated with their stamps.

The interface is ``StampedTileKernel`` (the build for simulation in time), ``measure`` and ``launch`` (on a GPU), and
``page`` (the report). The room never changes a stream: what a stamp costs is the simulated SM's affair.
"""
