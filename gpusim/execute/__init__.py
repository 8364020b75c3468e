"""
Executes a kernel's machine code on data: registers, memory, divergence, barriers, and what the kernel writes.

Its interface is ``KernelExecution``, which executes a launch CTA by CTA and yields its steps and addresses,
``image_of``, which puts arrays into global memory, and ``count``, which counts what each instruction did. It never
knows how long anything takes.
"""
