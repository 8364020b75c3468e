"""
Boxes of TMA: whether the driver and the hardware take one, and what it touches in memory.

``TensorMap`` is what a kernel's host side encodes. ``box_cost`` counts its bytes, sectors and wavefronts. The room
never knows a kernel, or how long a box takes.
"""
