"""
What the programs of attention compute on real data.

Its face is ``ctas``, which runs a batch of CTAs at a time. It never knows a time or a reference.
"""
