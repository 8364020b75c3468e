"""The family of fused attention: where each of its stages stands."""

from typing import TYPE_CHECKING, ClassVar

from gpusim.families.attention.checks import check_attention
from gpusim.families.attention.problem import AttentionKernel, AttentionProblem, AttentionScenario
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
from gpusim.scenario.read import Kind

if TYPE_CHECKING:
    from gpusim.report.captions import Words


class AttentionFamily(Family[AttentionScenario]):
    """softmax(Q * K^T) * V in one kernel."""

    kinds: ClassVar[tuple[Kind, ...]] = (
        Kind("attention", AttentionProblem, AttentionKernel, AttentionScenario, check_attention),
    )

    @property
    def schedules(self) -> Schedules[AttentionScenario]:
        """The two GEMMs of each key block."""
        from gpusim.families.attention import schedule

        return schedule

    @property
    def verifications(self) -> Verifications[AttentionScenario]:
        """Against float64 softmax attention."""
        from gpusim.families.attention import verify

        return verify

    @property
    def timing(self) -> Timing[AttentionScenario]:
        """Keys and values in the L2, estimated streams."""
        from gpusim.families.attention import timed

        return timed

    @property
    def cuda(self) -> Kernels[AttentionScenario]:
        """kernels_cuda/attention/kernel.cu."""
        from gpusim.families.attention import cuda

        return cuda

    @property
    def devices(self) -> Devices[AttentionScenario]:
        """Q, K, V, lengths, output, log-sum-exp."""
        from gpusim.families.attention import device

        return device

    @property
    def latitudes(self) -> Latitudes[AttentionScenario]:
        """Lengths of batches, and warps whose rows are clipped."""
        from gpusim.families.attention import latitude

        return latitude

    @property
    def pictures(self) -> Pictures[AttentionScenario]:
        """Key blocks, and the banks of P."""
        from gpusim.families.attention import pictures

        return pictures

    def words(self, scenario: AttentionScenario) -> "Words":
        """Heads and lengths; the block."""
        from gpusim.families.attention.words import words

        return words(scenario)


ATTENTION = AttentionFamily()
