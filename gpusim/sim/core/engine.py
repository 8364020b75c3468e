"""Chooses between the compiled core, if it was built from the present source, and the interpreted core."""

from collections.abc import Iterator
from contextlib import contextmanager

from gpusim.compiled.choice import Engine, EngineChoice, asked_for, engine_of
from gpusim.sim.core import chip
from gpusim.sim.core.source import CHIP


def engine() -> Engine:
    """
    Return the execution to use; its module has ``Chip`` and ``Granules``.

    Raises:
        BadInput: ``GPUSIM_ENGINE`` names no execution, or the compiled core, which is not built.
        CannotRun: ``chosen`` requests the compiled core, which is not built.
    """
    return engine_of(CHIP, chip)


@contextmanager
def chosen(execution: EngineChoice) -> Iterator[None]:
    """
    Use an execution of the core within a block.

    Raises:
        BadInput: There is no such execution.
        CannotRun: The compiled core is requested, but it is not built.
    """
    with asked_for(execution):
        engine()
        yield
