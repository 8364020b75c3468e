"""
The opcodes of sm_75 to sm_90 in tables, by groups of instructions: which bits of a word hold modifiers and operands.

The interface is ``decode_operation``. The room never knows what an instruction computes, how long it takes, or which
comes next.
"""
