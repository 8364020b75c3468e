"""
What the programs of attention compute on real data, a batch of CTAs at a time (``ctas``).

No module here knows a time or a reference.
"""
