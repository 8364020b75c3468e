"""The scenario that a golden file's template stands for, and which operand configurations there are."""

import pytest

from gpusim.families.gemm.gemm import GemmProblem
from gpusim.scenario.gemm import GemmScenario
from gpusim.scenario.kernel import Kernel
from gpusim.scenario.models import DTypes

ELEMENTS = {"half_t": "f16", "tfloat32_t": "tf32", "int8": "s8", "int4b_t": "s4"}
LAYOUTS = {"RowMajor": "row", "ColumnMajor": "column"}


@pytest.fixture
def configurations():
    """Of the files smem_write_* and warp_read_*, in order."""
    return [
        "f16_nn_128x128x32_s3",
        "f16_nt_128x128x32_s3",
        "f16_tn_128x128x32_s4",
        "f16_tn_128x128x64_s3",
        "f16_tn_128x256x32_s3",
        "f16_tn_64x64x64_s5",
        "s4_tn_128x128x128_s3",
        "s8_tn_128x128x64_s3",
        "tf32_nt_128x128x16_s4",
        "tf32_tn_128x128x16_s4",
    ]


@pytest.fixture
def scenario_of():
    """Template to a GEMM of its tile, types and layouts, unchecked: it need not be supported."""

    def call(template):
        # The Turing-style core names neither types nor layouts: f16, both operands contiguous along K.
        dtype = DTypes(ab=ELEMENTS[template.get("element_A", "half_t")])
        layouts = {
            "layout_a": LAYOUTS[template.get("layout_A", "RowMajor")],
            "layout_b": LAYOUTS[template.get("layout_B", "ColumnMajor")],
        }
        kernel = Kernel(
            threadblock=template["ThreadblockShape_MNK"],
            warp=template["WarpShape_MNK"],
            instruction=template["InstructionShape_MNK"],
            stages=template.get("kStages", 2),
        )
        problem = GemmProblem(m=256, n=256, k=256, **layouts, dtype=dtype)
        return GemmScenario(machine="h200", problem=problem, kernel=kernel)

    return call
