"""
Simulates sm_90 GEMMs in time: the roles as code of the core, the boxes of TMA as requests for lines.

Its face is ``time_of``, which runs a launch. The code of a role is estimated from its operations; what it waits for and
loads follows from them exactly. The room never knows data.
"""
