"""
The instructions that an attention program takes, by stated estimates (``stream``).

No module here knows when an instruction is issued.
"""
