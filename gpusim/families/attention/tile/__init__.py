"""
Which element and which address each lane of a CTA of attention has: tiles, operands, key blocks, row statistics.

Its face is ``attention_lanes``, the only module here that knows an op. It never knows the order of ops.
"""
