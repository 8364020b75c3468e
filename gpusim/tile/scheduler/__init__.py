"""
Which output tiles, and which of their k tiles, each CTA of a CUTLASS 3.x GEMM on sm_90 computes, in order.

The interface is ``ClusterTiles`` and three schedulers of it, ``OneTileScheduler``, ``PersistentScheduler`` and
``StreamKScheduler``, each with a grid and the ``CtaWork`` of it. The room never knows what a tile costs, or what lies
inside one.
"""
