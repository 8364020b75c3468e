"""The family of GEMMs and convolutions: where each of its stages stands."""

from typing import TYPE_CHECKING, ClassVar

from gpusim.families.family import (
    Devices,
    Family,
    Kernels,
    Latitudes,
    Pictures,
    Schedules,
    Timing,
    Verifications,
)
from gpusim.families.gemm.conv2d import Conv2dFpropProblem
from gpusim.families.gemm.gemm import GemmProblem
from gpusim.scenario.checks import check
from gpusim.scenario.gemm import GemmScenario
from gpusim.scenario.kernel import Kernel
from gpusim.scenario.read import Kind

if TYPE_CHECKING:
    from gpusim.report.captions import Words


class GemmFamily(Family[GemmScenario]):
    """Matrix products by one tile kernel."""

    kinds: ClassVar[tuple[Kind, ...]] = (
        Kind("gemm", GemmProblem, Kernel, GemmScenario, check),
        Kind("conv2d_fprop", Conv2dFpropProblem, Kernel, GemmScenario, check),
    )

    @property
    def schedules(self) -> Schedules[GemmScenario]:
        """The tile kernel, and a parallel split-K's reduction."""
        from gpusim.families.gemm import schedule

        return schedule

    @property
    def verifications(self) -> Verifications[GemmScenario]:
        """Against a float64 product."""
        from gpusim.families.gemm import verify

        return verify

    @property
    def timing(self) -> Timing[GemmScenario]:
        """Tiles in the L2, compiled and estimated streams."""
        from gpusim.families.gemm import timed

        return timed

    @property
    def cuda(self) -> Kernels[GemmScenario]:
        """kernels_cuda/kernel.cu and reduction.cu."""
        from gpusim.families.gemm import cuda_kernels

        return cuda_kernels

    @property
    def devices(self) -> Devices[GemmScenario]:
        """A, B, source, bias, output."""
        from gpusim.families.gemm import device

        return device

    @property
    def latitudes(self) -> Latitudes[GemmScenario]:
        """Semaphores, and warps whose rows are clipped."""
        from gpusim.families.gemm import latitude

        return latitude

    @property
    def pictures(self) -> Pictures[GemmScenario]:
        """The ring of shared memory, and its banks."""
        from gpusim.families.gemm import pictures

        return pictures

    def words(self, scenario: GemmScenario) -> "Words":
        """Extents and layouts; tiles and stages."""
        from gpusim.families.gemm.words import words

        return words(scenario)


GEMM = GemmFamily()
