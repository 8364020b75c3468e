"""Measures boxes that the CTAs of clusters load by multicast, beside boxes that each CTA loads for itself."""

from collections.abc import Iterator
from itertools import product
from typing import Final, NamedTuple

import numpy as np

from gpusim.lab.calibrate.hopper import tensor_maps
from gpusim.lab.calibrate.hopper.boxes import BOX_PITCH, LONE_CTA_SHARED, NEAR_ROWS
from gpusim.lab.calibrate.hopper.launches import ALIGNED_BYTES, clocks, of_ctas, structure
from gpusim.lab.calibrate.runner import WARP, Device, MeasuredRow

MULTICASTS: Final = (("plain", 1), ("plain", 0), ("slices", 0), ("leader", 0), ("both", 1))
"""How a stage is filled, and whether boxes that a CTA loads for itself are of its own, or the cluster's."""

CLUSTERS: Final = (2, 4)
MULTICAST_STAGES: Final = (4, 6, 8, 12)
_ROWS: Final = (32, 64, 128)
_INNER: Final = 128
_WARM_TRIPS, _BOXES = 2, 192
_STAGE_BYTES: Final = 200 << 10
_SMS_OF_GPC: Final = 18


class MulticastCase(NamedTuple):
    """Boxes of ``rows`` rows by kernels of tma_multicast.cu: their kind, CTAs of a cluster and stages."""

    kind: str
    own: int
    cluster: int
    rows: int
    stages: int
    ctas: int

    @property
    def boxes_of_stage(self) -> int:
        """Boxes that a stage holds."""
        return 2 if self.kind == "both" else 1

    @property
    def stage_bytes(self) -> int:
        """Bytes that a CTA receives for a stage."""
        return self.boxes_of_stage * self.rows * _INNER


def at_once(sms: int, cluster: int) -> int:
    """
    Return how many CTAs of clusters run at once, whichever SMs of the GPCs are there.

    As CUTLASS counts them: all GPCs have 18 SMs but one, which has what is left, and a GPC holds whole clusters.
    """
    whole, left = divmod(sms, _SMS_OF_GPC)
    fitting = whole * (_SMS_OF_GPC - _SMS_OF_GPC % cluster) + left - left % cluster
    return max(cluster, fitting)


def _cases(sms: int, *, quick: bool) -> Iterator[MulticastCase]:
    for (kind, own), cluster, rows, stages in product(
        MULTICASTS, CLUSTERS, _ROWS[:: 2 if quick else 1], MULTICAST_STAGES
    ):
        for ctas in (cluster, at_once(sms, cluster)):
            case = MulticastCase(kind, own, cluster, rows, stages, ctas)
            if stages * case.stage_bytes <= _STAGE_BYTES:
                yield case


def measure_tma_multicast(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure how fast the CTAs of clusters get boxes that hit the L2, through a ring of ``stages``.

    Of ``kind`` "plain" each CTA loads each box itself: its own (``own`` 1), or the same as the others of its cluster.
    Of "slices" each CTA loads its share of the box, to all of them; of "leader" the first CTA loads the whole box, to
    all of them. A stage of "both" has a box of the CTA's own and one by slices, as a GEMM's operands. A stage is filled
    again once all CTAs that it is filled for have released it. Column ``cycles`` has the median over CTAs,
    ``slowest`` the slowest CTA's; ``per_box`` the cycles of a CTA for the stage, ``bytes_per_cycle`` the bytes it got.
    """
    areas = device.sms + device.sms // min(CLUSTERS) + 2 * max(CLUSTERS)
    data = device.cupy.zeros(areas * NEAR_ROWS * BOX_PITCH, dtype=np.uint8)
    rows: list[MeasuredRow] = []
    for case in _cases(device.sms, quick=quick):
        trips = _WARM_TRIPS + _BOXES // case.stages
        whole, slice_ = (
            tensor_maps.encode(
                tensor_maps.BoxMap(
                    address=int(data.data.ptr),
                    columns=BOX_PITCH // 2,
                    rows=areas * NEAR_ROWS,
                    pitch=BOX_PITCH,
                    box_columns=_INNER // 2,
                    box_rows=box_rows,
                    swizzle=_INNER,
                )
            )
            for box_rows in (case.rows, case.rows // case.cluster)
        )
        boxes = structure(rows=case.rows, row_mask=NEAR_ROWS - 1, area_rows=NEAR_ROWS, own=case.own)
        spans, error = clocks(
            device,
            "tma_multicast",
            f"{case.kind}_{case.cluster}_{case.stages}",
            (whole, slice_, boxes, np.uint32(trips)),
            (case.ctas, 2),
            ctas=case.ctas,
            threads=2 * WARP,
            shared=max(LONE_CTA_SHARED, case.stages * case.stage_bytes + ALIGNED_BYTES),
        )
        found = of_ctas(spans, _BOXES // case.stages * case.stages - 1, case.stage_bytes)
        rows.append(case._asdict() | {"stage_bytes": case.stage_bytes} | found | {"error": error})
    return rows
