"""The epilogue on real data: what it stores, which hazards the data shows, and that no other is ever reported."""

from dataclasses import replace

import numpy as np
import pytest

from gpusim.functional.data_hazards import HazardLog
from gpusim.functional.epilogue import Epilogue, EpilogueInputs, OutputTensor
from gpusim.functional.shared_memory import SharedMemory
from gpusim.numerics.output_op import OutputOp
from gpusim.schedule.epilogue import epilogue_ops
from gpusim.schedule.ops import StoreShared
from gpusim.tile.epilogue import EpilogueTile

ROWS, COLUMNS, WIDTH = 128, 192, 4
"""Two tiles along M and three along N, of 64 by 64 by four warps; vectors of four f32."""

STORED = OutputOp("f32", "f32", "f32", 1.0, 0.0, scaled=False, with_source=False, with_bias=False, with_relu=False)
CORNER = (0, 0, 0)


def tile_of(kind=EpilogueTile, **changes):
    tile = {"threadblock": (64, 64, 32), "warp": (32, 32, 32), "instruction": (16, 8, 16)}
    stored = {"output_type": "f32", "elements_per_access": WIDTH, "extent": (ROWS, COLUMNS), "leading": COLUMNS}
    return kind(**(tile | stored | changes))


def numbered(ctas):
    """Accumulators of which no two are equal, shape [ctas, warps, 32, 32]."""
    return np.arange(ctas * 4 * 32 * 32, dtype=np.float32).reshape(ctas, 4, 32, 32)


def matrix(accumulators):
    """A CTA's warp tiles side by side: warps run along M first."""
    return np.block([[accumulators[0], accumulators[2]], [accumulators[1], accumulators[3]]])


def run(tile, accumulators, tiles, *, elements=ROWS * COLUMNS, left_out=lambda _: False):
    """The output tensor and the hazards after all ops but those left out."""
    output, log = OutputTensor(elements, "f32"), HazardLog()
    epilogue = Epilogue(
        tile,
        STORED,
        accumulators,
        np.array(tiles),
        memory=SharedMemory(),
        output=output,
        inputs=EpilogueInputs(None, None),
        hazards=log,
    )
    for op in epilogue_ops(tile, STORED):
        if not left_out(op):
            epilogue.execute(op)
    return output, log.hazards()


def test_each_cta_stores_its_accumulators_to_its_own_tile():
    output, hazards = run(tile_of(), accumulators := numbered(2), [(0, 2, 0), (1, 0, 0)])
    found = output.values.reshape(ROWS, COLUMNS)

    assert hazards == ()
    assert np.array_equal(found[:64, 128:], matrix(accumulators[0]))
    assert np.array_equal(found[64:, :64], matrix(accumulators[1]))
    assert output.stores.sum() == 2 * 64 * 64


@pytest.mark.parametrize("place", [(0, 2, 0), (1, 0, 0), (1, 2, 1)], ids=str)
@pytest.mark.parametrize("warp", range(4))
def test_a_nan_of_the_accumulators_is_an_answer_and_no_hazard(place, warp):
    """Beside sound neighbours, wherever the CTA and whichever its slice of two."""
    accumulators = numbered(1)
    accumulators[0, warp, 3, 17] = np.nan
    output, hazards = run(tile_of(slice_stride=ROWS * COLUMNS), accumulators, [place], elements=2 * ROWS * COLUMNS)
    m, n, slice_ = place
    found = output.values.reshape(2, ROWS, COLUMNS)[slice_, 64 * m : 64 * (m + 1), 64 * n : 64 * (n + 1)]

    assert hazards == ()
    assert np.array_equal(found, matrix(accumulators[0]), equal_nan=True)


@pytest.mark.parametrize(("place", "first_row"), [((0, 2, 0), 0), ((1, 0, 0), 64), ((1, 2, 1), 64)], ids=str)
def test_what_no_store_has_staged_is_stale_from_its_first_row(place, first_row):
    """Step 0 stages rows 0 to 7 of each warp, at 0 and 32; of row 0 what is missing is missing in the accumulators."""
    accumulators = numbered(1)
    accumulators[0, :, 0] = np.nan
    _, hazards = run(
        tile_of(slice_stride=ROWS * COLUMNS),
        accumulators,
        [place],
        elements=2 * ROWS * COLUMNS,
        left_out=lambda op: isinstance(op, StoreShared) and op.step == 0,
    )

    assert [(hazard.name, hazard.operand, hazard.stage, hazard.row) for hazard in hazards] == [
        ("stale_data_consumed", "accumulator", 0, first_row + 1)
    ]


def shifted(**by):
    """A tile whose accesses are off by so many elements, while their predicates say that all is well."""

    class Shifted(EpilogueTile):
        def output(self, *place):
            found = EpilogueTile.output(self, *place)
            return replace(found, **{name: getattr(found, name) + much for name, much in by.items()})

    return tile_of(Shifted, extent=(64, 64), leading=64)


def vectors(*, row=slice(None), column=slice(None)):
    """Which elements of 64 by 64 stay unwritten."""
    missing = np.zeros((64, 64), np.bool_)
    missing[row, column] = True
    return missing


ILLEGAL = {
    "a vector that begins in a row and ends beyond it": (shifted(columns=1), 64 * 64, vectors(column=slice(60, 64))),
    "a vector before the tensor": (shifted(offset=-WIDTH), 64 * 64, vectors(row=63, column=slice(60, 64))),
    "a vector that ends beyond the tensor": (shifted(), 64 * 64 - 1, vectors(row=63, column=slice(60, 64))),
    "a vector at no multiple of its width": (shifted(offset=1), 64 * 64 + WIDTH, vectors()),
}


@pytest.mark.parametrize(("tile", "elements", "missing"), ILLEGAL.values(), ids=ILLEGAL)
def test_an_illegal_access_is_told_and_the_others_store(tile, elements, missing):
    output, hazards = run(tile, numbered(1), [CORNER], elements=elements)
    whole = np.zeros(64 * 64, np.uint8)
    whole[: min(elements, 64 * 64)] = output.stores[: 64 * 64]

    assert {(hazard.name, hazard.operand) for hazard in hazards} == {("illegal_global_access", "output")}
    assert np.array_equal(whole.reshape(64, 64) == 0, missing)
    assert output.stores.max(initial=0) <= 1
