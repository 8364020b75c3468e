"""
Which element and which address each lane of a CTA of attention has: tiles, operands, key blocks, row statistics.

``lanes`` is what others ask. No module here but ``lanes`` knows an op, and none knows their order.
"""
