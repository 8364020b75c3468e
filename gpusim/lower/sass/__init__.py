"""
Machine code of sm_75 to sm_90: read from a cubin, decoded, and executed for one warp.

The interface is ``read_cubin``, ``decode``, ``run_warp`` and ``unit_of``. The room never knows a scenario, a schedule
or a tile, and decodes any kernel. It refuses, by name, an unknown opcode, an unknown bit of an opcode, and a form that
it does not execute.
"""
