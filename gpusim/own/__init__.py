"""
Kernels of the user's own in time: the trace of an execution becomes the programs and accesses that the core executes.

``machine_code`` decodes the kernel's instructions for a machine; ``paths`` turns the instructions that a warp executed
into segments; ``accesses`` turns lane addresses into requests and wavefronts; ``trace`` gathers them CTA by CTA;
``timed`` runs the core.
"""
