"""
Texts that are interpreted or compiled: of which units a compiled module is built, and which of both is used.

Two cores are such texts: that of the simulator (``sim.core``) and that of the executor (``execute.core``).
"""
