"""
What each role knows to have happened, as a vector clock; it knows neither data nor the order of an execution.

A component counts events that happen one after the other: the accesses of a role, its wgmma groups, its store groups,
the phases of an mbarrier. An event happens before what a role does if the role's clock has counted it. So a hazard is
found whatever the order in which roles and copies happened to be executed.
"""

from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

Clock: TypeAlias = npt.NDArray[np.int32]
"""Events that are known to have happened, by component."""

OWN_ACCESSES: Final = 0
"""Reads and writes by the role's threads, in the generic proxy."""

FENCED_ACCESSES: Final = 1
"""Those of them that a fence.proxy.async has made visible to the async proxy. It follows ``OWN_ACCESSES``."""

WGMMA_GROUPS: Final = 2
"""wgmma groups that are complete."""

STORE_GROUPS: Final = 3
"""Groups of TMA stores that have read shared memory."""

_OF_A_ROLE: Final = 4


def component(role: int, kind: int) -> int:
    """Return the component of a role of the cluster, ``OWN_ACCESSES`` to ``STORE_GROUPS``."""
    return _OF_A_ROLE * role + kind


def components(roles: int, barriers: int) -> int:
    """Return the number of components: those of all roles of a cluster, and then of all its mbarriers."""
    return _OF_A_ROLE * roles + barriers


def merge(into: Clock, other: Clock) -> None:
    """Let a clock know what another one knows."""
    np.maximum(into, other, out=into)
