"""
GEMM and the forward convolution as implicit GEMM: all that is special to them, from problem to pictures.

Its face is ``family.GEMM`` and the modules with a stage's name (``schedule``, ``verify``, ``timed``, ``cuda``,
``device``, ``latitude``, ``words``, ``pictures``). It never imports another family, and no room below families imports
it.
"""
