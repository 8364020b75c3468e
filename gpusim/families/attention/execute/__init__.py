"""
Executes the programs of attention on real data.

The interface is ``ctas``, which executes a batch of CTAs at a time. The room knows no time and no reference.
"""
