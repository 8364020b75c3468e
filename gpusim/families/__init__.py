"""
Families of kernels: the questions that each family answers, and the registry of problem kinds by family.

The interface is the registry (``load_scenario``, ``family_of``), the protocols of ``Family``, and ``Verification``. The
modules beside the families never know how a kernel works: they ask the family, whose stages are imported on demand.
"""
