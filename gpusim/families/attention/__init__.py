"""
Fused attention, memory-efficient and FlashAttention-2: all that is special to it, from problem to pictures.

The interface is ``family.ATTENTION`` and the modules with a stage's name (``schedule``, ``verify``, ``timed``,
``cuda``, ``device``, ``latitude``, ``words``, ``pictures``). It never imports another family, and no room imports it.
"""
