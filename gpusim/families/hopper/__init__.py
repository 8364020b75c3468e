"""
GEMM of sm_90 with TMA, mbarriers and wgmma: what each role of a CTA does, as CUTLASS 3.x schedules it.

The interface is ``family.HOPPER`` and the modules with a stage's name (``streams``, ``verify``, ``words``). ``problem``
has the scenario, ``collective`` what CUTLASS chooses for it. It never knows how long anything takes.
"""
