"""
The operations of each role of a CTA, from its first to its last, and what they address.

Its face is ``roles_of``, which gives a CTA's roles. It never knows data, or how long an operation takes.
"""
