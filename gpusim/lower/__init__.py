"""
Instruction streams: the machine instructions of one warp, estimated by stated rules or decoded from machine code.

Its face is ``Stream``, made by ``Lowering`` (estimated) or ``lower`` (compiled and aligned with the schedule), and kept
by ``stream_file``. It never says in which cycle an instruction issues.
"""
