"""
Instruction streams: the machine instructions of one warp, estimated by stated rules or decoded from machine code.

The interface is ``Stream``. ``Lowering`` estimates a stream; ``lower`` takes one from machine code and aligns it with
the schedule; ``stream_file`` stores it. The room never knows the cycle of an issue.
"""
