"""
The time of a kernel of the user's own: the trace of its execution becomes programs and accesses for the simulator.

``machine_code`` decodes the kernel's instructions for a machine. ``paths`` turns the instructions that a warp executed
into segments. ``accesses`` turns lane addresses into requests and wavefronts. ``trace`` gathers both, CTA by CTA.
``timed`` runs the simulator's core on them, and ``watched`` reads its log. ``arguments`` reads the arguments of a
launch from text. The room never knows a schedule, a scenario or a family.
"""
