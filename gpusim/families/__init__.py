"""
What tells one family of kernels from another: which questions each answers, and which family has which problem.

Its face is the registry (``load_scenario``, ``family_of``), the protocols of ``Family``, and ``Verification``. What
lies here beside the families never knows how a kernel works: it asks the family, and a stage is imported when asked.
"""
