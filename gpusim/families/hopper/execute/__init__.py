"""
Executes all roles of a cluster's CTAs on real data, interleaved, and finds every hazard between them.

The interface is ``cluster_programs`` for what is executed, ``run_grid`` to execute it, ``HOPPER_MUTATIONS`` to break
it, and ``HopperTensors``. The room never knows a time.
"""
