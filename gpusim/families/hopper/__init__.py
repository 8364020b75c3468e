"""
sm_90 GEMMs with TMA, mbarriers and wgmma, as CUTLASS 3.x schedules them.

``problem`` has the scenario, ``collective`` what CUTLASS chooses for it, ``roles`` what the warps of a CTA do.
"""
