"""
GEMM, from problem to pictures, and the tile kernel of every problem that is one matrix product.

The interface is ``family.GEMM`` and the modules with a stage's name (``schedule``, ``verify``, ``timed``, ``cuda``,
``device``, ``latitude``, ``words``, ``pictures``). The room never imports another family, and no room below families
imports it.
"""
