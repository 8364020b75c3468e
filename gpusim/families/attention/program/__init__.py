"""
The order of an attention CTA's ops: programs of both kernels, their hazards, and mutations that break them.

The interface is ``chained`` and ``flash``, with one program each. The room never knows an address, a GPU or a time.
"""
