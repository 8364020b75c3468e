"""Counts the general registers that an instruction of the disassembly reads."""

import re
from functools import lru_cache

_GENERAL = re.compile(r"\bR\d+\b")


@lru_cache(maxsize=1 << 16)
def registers_read(text: str) -> int:
    """
    Return the number of different general registers that an instruction's text names as sources.

    A register that is only written comes first in the text and does not count; nor do RZ and uniform registers.

    Args:
        text: Guard, mnemonic and operands, as a disassembler writes them, e.g. "@P0 IADD3 R4, P1, R2, 0x10, RZ".
    """
    operands = text[text.index(" ") :].split(",") if " " in text else []
    words = operands[0].split() if operands else []
    written = bool(words) and _GENERAL.fullmatch(words[-1].partition(".")[0]) is not None
    return len(set(_GENERAL.findall(",".join(operands[written:]))))
