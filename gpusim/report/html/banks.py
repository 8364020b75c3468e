"""Describes accesses to shared memory for the page's bank map: wavefronts, cells, and the address of each lane."""

from typing import Any

from gpusim.report.bank_grid import BankPicture, verdict, wavefronts


def bank_map(picture: BankPicture) -> dict[str, Any]:
    """
    Return one access as plain data.

    ``wavefronts`` has for each wavefront its phase, its number in the phase (every one past 0 is a conflict) and its
    cells [first bank, one past the last bank, lanes]. ``addresses`` has the byte address of each lane, or None for a
    lane that takes no part.
    """
    taking_part = picture.taking_part().tolist()
    return {
        "title": picture.title,
        "verdict": verdict(picture),
        "kind": picture.kind,
        "width": picture.width_bytes,
        "banks": picture.banks.count,
        "bank_bytes": picture.banks.width,
        "phase_lanes": picture.lanes_per_phase(),
        "addresses": [
            int(address) if active else None
            for address, active in zip(picture.addresses.tolist(), taking_part, strict=True)
        ],
        "wavefronts": [
            {
                "phase": wavefront.phase,
                "number": wavefront.number,
                "cells": [[cell.bank, cell.end, list(cell.lanes)] for cell in wavefront.cells],
            }
            for wavefront in wavefronts(picture)
        ],
    }
