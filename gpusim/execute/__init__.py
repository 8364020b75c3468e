"""
Executes a kernel's machine code: all warps of a CTA, registers, memory, barriers, and what the kernel writes.

It knows machine code and its meaning, and nothing of time: ``sim`` times what is executed here.
"""
