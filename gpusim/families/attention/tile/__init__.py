"""
Elements and addresses of each lane of an attention CTA: tiles, operands, key blocks, row statistics.

The interface is ``attention_lanes``, the only module of the room that knows ops. The room never knows the order of ops.
"""
