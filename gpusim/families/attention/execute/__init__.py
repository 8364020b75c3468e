"""
Executes the programs of attention on real data.

The interface is ``ctas``, which executes a batch of CTAs at a time. The room never knows a time or a reference.
"""
