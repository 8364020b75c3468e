"""Reads the sides of ``gpusim compare`` that are kernels of the user's own: run directories and scenarios."""

from collections.abc import Sequence
from pathlib import Path

from gpusim.commands.output import progress
from gpusim.commands.scenario_source import read_question
from gpusim.errors import BadInput
from gpusim.results.kernel_result import KernelResult, load_kernel_result
from gpusim.results.run_directory import RESULT, is_own_run
from gpusim.scenario.own_kernel import KernelQuestion


def own_sides(texts: Sequence[str], overrides: tuple[str, ...]) -> list[tuple[str, KernelResult]]:
    """
    Return name and answer of each side; none if the first is no kernel of the user's own.

    Args:
        texts: Run directories and scenarios.
        overrides: Settings that make a second side of one scenario.

    Raises:
        BadInput: Some sides are kernels of the user's own and others are not, or there are too few sides, or settings
            for several.
    """
    found = [_read(text) for text in texts]
    if not any(found):
        return []
    other = next((text for text, one in zip(texts, found, strict=True) if one is None), None)
    if other is not None:
        raise BadInput(f"{other} is no kernel of your own, and is not compared with one")
    sides = [(Path(text).stem, one) for text, one in zip(texts, found, strict=True) if one is not None]
    if overrides:
        if len(texts) != 1 or not isinstance(sides[0][1], KernelQuestion):
            raise BadInput("--set makes the second side of one scenario")
        changed = read_question(texts[0], overrides)
        if isinstance(changed, KernelQuestion):
            sides.append((", ".join(overrides), changed))
    if len(sides) < 2:
        raise BadInput("a comparison needs two sides, or one and --set KEY=VALUE, which makes the second")
    return [(name, _answered(name, one)) for name, one in sides]


def _read(text: str) -> KernelQuestion | KernelResult | None:
    """Return the answer of a run directory, or the question of a scenario; None if it is another side."""
    if is_own_run(text):
        return load_kernel_result(Path(text) / RESULT)
    if not text.endswith(".toml") or not Path(text).is_file():
        return None
    found = read_question(text, ())
    return found if isinstance(found, KernelQuestion) else None


def _answered(name: str, side: KernelQuestion | KernelResult) -> KernelResult:
    if isinstance(side, KernelResult):
        return side
    from gpusim.python.question import answer  # a run directory does not need it

    progress(f"executing {name}")
    return answer(side, progress=progress).result
