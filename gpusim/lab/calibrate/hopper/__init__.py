"""
Microbenchmarks of what sm_90 brought: TMA, wgmma, mbarriers and clusters.

They measure loads and stores of boxes alone, merged and by multicast, the queue of wgmma and what goes beside it, and
barriers. The interface is ``boxes``, ``pitches``, ``merged``, ``multicast``, ``box_stores``, ``queue``, ``beside`` and
``barriers``, whose functions return the rows of CSV files. The room never runs a tile kernel.
"""
