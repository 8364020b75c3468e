"""The cost of an access of a tile: its wavefronts, the lanes that conflict, and the value of the hardware's counter."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from gpusim.arrays import IntArray
from gpusim.layout.accesses import LaneAccess
from gpusim.layout.banks import ConflictGroup, access_ideal, access_wavefronts, conflict_groups
from gpusim.layout.global_lines import returning_lines, returning_wavefronts
from gpusim.layout.shared import SharedLayout

LDGSTS_COUNTER: Final = "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum"
STORE_COUNTER: Final = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"


@dataclass(frozen=True, slots=True)
class AccessReport:
    """
    The cost of one access.

    Attributes:
        access: The access, in coordinates.
        worst: Number of the first instruction with the most wavefronts.
        addresses: Byte address of each lane of the worst instruction; None for lanes that take no part.
        wavefronts: Wavefronts of all instructions.
        ideal_wavefronts: Fewest wavefronts for these lanes and this width.
        groups: Every bank that needs more than one wavefront in a phase of the worst instruction, with its lanes.
        counter_wavefronts: Wavefronts of a cp.async as the hardware counts them for LDGSTS: those in which lines of
            global memory return separately are included. None if the rows of global memory are not known.
    """

    access: LaneAccess
    worst: int
    addresses: tuple[int | None, ...]
    wavefronts: int
    ideal_wavefronts: int
    groups: tuple[ConflictGroup, ...]
    counter_wavefronts: int | None = None

    @property
    def conflicts(self) -> int:
        """Bank conflicts: wavefronts beyond the ideal."""
        return self.wavefronts - self.ideal_wavefronts

    @property
    def ways(self) -> int:
        """Most wavefronts that one bank needs in one phase: 8 is an 8-way conflict, 1 is none."""
        return max((group.wavefronts for group in self.groups), default=1)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON. In a conflict group, ``lanes[i]`` are the lanes that want word ``words[i]``."""
        data: dict[str, Any] = {
            "access": self.access.label,
            "op": self.access.op,
            "width_bytes": self.access.width_bytes,
            "instructions": self.access.instructions,
            "worst_instruction": self.worst,
            "addresses": list(self.addresses),
            "wavefronts": self.wavefronts,
            "ideal_wavefronts": self.ideal_wavefronts,
            "conflicts": self.conflicts,
            "ways": self.ways,
            "conflict_groups": [
                {
                    "phase": group.phase,
                    "bank": group.bank,
                    "words": list(group.lanes_of_word),
                    "lanes": [list(lanes) for lanes in group.lanes_of_word.values()],
                }
                for group in self.groups
            ],
        }
        if self.counter_wavefronts is not None:
            data["counter_wavefronts"] = self.counter_wavefronts
            data["counters"] = list(self.counters)
        return data

    @property
    def counters(self) -> tuple[str, ...]:
        """
        Names of ncu's counters for the wavefronts of a cp.async whose rows of global memory are known.

        Source: reports/measured/h200/microbench/ldgsts.csv; docs/cross-checking.md.
        """
        source = self.access.source
        if source is None:
            return ()
        return (LDGSTS_COUNTER, STORE_COUNTER) if source.cache == "ca" else (LDGSTS_COUNTER,)


def access_report(access: LaneAccess, layout: SharedLayout, base: int = 0) -> AccessReport:
    """
    Count the wavefronts of an access.

    Args:
        access: The access.
        layout: Layout of the tile.
        base: Byte address of the tile in shared memory.

    Raises:
        BadInput: A lane reaches outside the tile, or its bytes are not contiguous in this layout.
        MisalignedAccess: Names the first offending lane and address.
    """
    addresses = access.addresses(layout, base)
    # An error names the instruction only if there are several.
    several = slice(None) if access.instructions > 1 else 0
    loads = access.op == "load"
    each = np.atleast_1d(access_wavefronts(addresses[several], access.width_bytes, access.active[several], loads=loads))
    worst = int(np.argmax(each))
    return AccessReport(
        access=access,
        worst=worst,
        addresses=tuple(
            address if active else None
            for address, active in zip(addresses[worst].tolist(), access.active[worst].tolist(), strict=True)
        ),
        wavefronts=int(each.sum()),
        ideal_wavefronts=int(
            access_ideal(access.width_bytes, access.active, loaded=addresses if loads else None).sum()
        ),
        groups=conflict_groups(addresses[worst], access.width_bytes, access.active[worst], loads=loads),
        counter_wavefronts=_counted(access, addresses, each, layout.element_bits),
    )


def _counted(access: LaneAccess, addresses: IntArray, by_pattern: IntArray, bits: int) -> int | None:
    """Return the wavefronts of a cp.async whose rows of global memory are known, else None."""
    if access.source is None:
        return None
    offset = np.where(access.active, access.strided * access.source.leading + access.contiguous, 0)
    if access.source.cache == "ca":
        lines = returning_lines(offset, access.active, bits, access.width_bytes)
    else:
        lines = returning_wavefronts(offset, addresses * 8 // bits, access.active, bits)
    return int(np.maximum(by_pattern, lines).sum())
