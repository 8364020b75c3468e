"""Turns a decoded instruction, with its control field, into an instruction of a stream."""

from typing import Any

from gpusim.lower.registers_read import registers_read
from gpusim.lower.sass.decode import NO_BARRIER, Sass
from gpusim.lower.stream import NO_SCOREBOARD, Instruction, Unit


def instruction_of(sass: Sass, unit: Unit, pipe: str, *, guard: str = "", op: Any = None, part: int = 0) -> Instruction:
    """
    Return a decoded instruction as one of a stream; its stall count and scoreboards are those of its control field.

    Args:
        sass: The instruction.
        unit: The unit that executes it.
        pipe, guard, op, part: As in ``Instruction``.
    """
    control = sass.control
    return Instruction(
        opcode=sass.mnemonic,
        unit=unit,
        pipe=pipe,
        stall=max(1, control.stall),
        write_scoreboard=NO_SCOREBOARD if control.write == NO_BARRIER else control.write,
        read_scoreboard=NO_SCOREBOARD if control.read == NO_BARRIER else control.read,
        wait_mask=control.wait_mask,
        guard=guard,
        op=op,
        part=part,
        sources=registers_read(sass.text) if unit == "pipe" else 0,
    )
