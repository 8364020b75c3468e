"""Lists reads of the same lines by SMs of a GPC that ask some cycles after one another, on a chip that rests."""

from typing import Final

from gpusim.gpu.calibrate.runner import WARP, ProfiledLaunch

APART_METRICS: Final = (
    "lts__t_sectors_srcunit_tex.sum",
    "lts__t_sectors_op_read.sum",
    "l1tex__m_xbar2l1tex_read_sectors.sum",
    "lrc__xbar2lrc_requests_op_read.sum",
    "lrc__lrc2xbar_sectors_op_read_replayed.sum",
    "lrc__request_sectors_op_read_coalescing_achieved_type_hardware.sum",
    "dram__bytes_read.sum",
)
"""Sectors that L2 slices look up and SMs receive, and what the request coalescers before the slices count."""

_STEPS, _PERIOD = 256, 3000
_LONE_CTA_BYTES = 120_000
_LINE_BYTES = 128
_NOBODY = -1


def apart_launches(sms: int, quick: bool) -> list[ProfiledLaunch]:
    """
    Return reads by pairs of SMs, and by four, that begin some cycles apart (``late``): SMs 0, 1, 16 and 17 of a GPC.

    SMs 0 and 2 are of two GPCs: their reads are not merged. ``burst`` lines are asked for at once; with ``warm`` 1, the
    L2 has them.
    """
    near = (-200, -160, -120, -80, -60, -40, -20, -10, 0, 10, 20, 40, 60, 80, 120, 160, 200)
    if quick:
        return [_apart(sms, (0, 1), 0), _apart(sms, (0, 1), 1000)]
    found = [_apart(sms, members, late) for members in ((0, 1), (0, 16)) for late in near]
    found += [_apart(sms, (0, 16), late, burst=32) for late in near]
    found += [_apart(sms, (0, 16), late, warm=0) for late in (0, 50, 100, 200, 400, 600, 800, 1000, 1400)]
    found += [
        _apart(sms, (0, 1, 16, 17), late, burst=burst) for burst in (1, 32) for late in (0, 10, 20, 40, 60, 80, 120)
    ]
    return [*found, _apart(sms, (0, 2), 0)]


def _apart(sms: int, members: tuple[int, ...], late: int, *, burst: int = 1, warm: int = 1) -> ProfiledLaunch:
    named = (*members, *(_NOBODY,) * (4 - len(members)))
    return ProfiledLaunch(
        "apart",
        f"apart_{burst}",
        sms,
        WARP,
        ("clocks", "data", "flags", _STEPS, _PERIOD, late, warm, *named),
        {
            "sms": " ".join(map(str, members)),
            "members": len(members),
            "burst": burst,
            "warm": warm,
            "late": late,
            "bytes": _STEPS * burst * _LINE_BYTES,
            "steps": _STEPS,
        },
        clocks=2,
        data_bytes=_STEPS * burst * _LINE_BYTES,
        shared=_LONE_CTA_BYTES,
    )
