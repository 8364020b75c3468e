"""
Which instructions an attention program takes, by stated estimates.

Its face is ``stream``, of a whole CTA. It never knows when an instruction is issued.
"""
