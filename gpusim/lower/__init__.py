"""
Instruction streams in the machine's own form: what one warp executes, by stated estimates or from machine code.

Its face is ``Stream``, made by ``Lowering`` (estimated) or ``lower`` (compiled and aligned with the schedule), and kept
by ``stream_file``. It never says in which cycle an instruction issues.
"""
