"""
Where an element of an operand lies in shared memory, and which banks a warp's addresses meet.

Its face is ``SharedLayout`` with the layouts that ``shared_layout`` finds by name, ``access_wavefronts`` and
``conflict_groups``, and cute's layout algebra. It never knows which lane asks for what, or when.
"""
